import { describe, expect, it } from '@jest/globals';
import { containersOf, idOf, type KubernetesObject } from './object.ts';
import { renderVariant, variantNames } from './overlays.ts';
import { typeProblems, validatorProblem } from './schemas.ts';

/** Every object of every variant. Identical ones appear once. */
function allObjects(): KubernetesObject[] {
  const objects = variantNames.flatMap((variant) => renderVariant(variant));
  return [...new Map(objects.map((object) => [JSON.stringify(object), object])).values()];
}

function deployment(name: string): KubernetesObject {
  const found = renderVariant('production').find((object) => idOf(object) === `Deployment/${name}`);
  if (found === undefined) throw new Error(`there is no Deployment ${name}`);
  return structuredClone(found);
}

describe('the schemas of Kubernetes', () => {
  it('accept every object of every overlay: types, formats, required fields', async () => {
    const problems = await Promise.all(allObjects().map(validatorProblem));
    expect(problems.filter((problem) => problem !== null)).toEqual([]);
  });

  it('know every used field', async () => {
    expect(await typeProblems(allObjects())).toEqual([]);
  });

  it('refuse a misspelt field, a wrong type and a missing field', async () => {
    const misspelt = deployment('ingress');
    for (const container of containersOf(misspelt).filter(({ name }) => name === 'ingress'))
      container.livnessProbe = {};
    const wrongType = deployment('delivery');
    wrongType.spec = { ...(wrongType.spec as object), revisionHistoryLimit: 'five' };
    const missing = deployment('agent-runner');
    missing.spec = {};
    expect(await typeProblems([misspelt])).toEqual([
      expect.stringMatching(/^Deployment\/ingress: .*livnessProbe/),
    ]);
    expect(await validatorProblem(wrongType)).toMatch(/^Deployment\/delivery: .*revisionHistoryLimit/s);
    expect(await validatorProblem(missing)).toMatch(/^Deployment\/agent-runner: .*selector/s);
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { render } from './kustomize.ts';

const made: string[] = [];
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true });
});

function directoryWith(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'angelia-kustomize-'));
  made.push(directory);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

const account = 'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: a }\n';

// That it renders our overlays as kubectl does is held by compare-with-kubectl.ts, where there is a kubectl.
describe('our rendering of kustomizations', () => {
  it.each([
    ['a field that it does not know', 'namePrefix: x-', 'namePrefix is not known here'],
    [
      'a kind of label that changes selectors',
      'labels: [{ pairs: {}, includeSelectors: true }]',
      'labels have',
    ],
    ['a patch that meets nothing', 'patches: [{ target: { kind: Pod }, patch: "a: 1" }]', 'meets nothing'],
    [
      'a directive in a patch',
      'patches: [{ target: { kind: ServiceAccount }, patch: "$patch: delete" }]',
      '$patch',
    ],
    ['replicas of what is not there', 'replicas: [{ name: b, count: 2 }]', 'there is no b'],
    ['the same object twice', 'resources: [a.yaml, a.yaml]', 'ServiceAccount/a is there twice'],
    [
      'merging into what is not there',
      'configMapGenerator: [{ name: c, behavior: merge, literals: [A=1] }]',
      'is not there',
    ],
    [
      'an option of a generator',
      'configMapGenerator: [{ name: c, options: { labels: {} } }]',
      'disableNameSuffixHash',
    ],
  ])('refuses %s', (_what, line, reason) => {
    const resources = line.startsWith('resources') ? '' : 'resources: [a.yaml]\n';
    const directory = directoryWith({ 'kustomization.yaml': `${resources}${line}\n`, 'a.yaml': account });
    expect(() => render(directory)).toThrow(reason);
  });

  it('refuses a JSON patch whose test fails', () => {
    const patch = '[{ op: test, path: /metadata/name, value: b }, { op: remove, path: /metadata/name }]';
    const directory = directoryWith({
      'kustomization.yaml': `resources: [a.yaml]\npatches:\n  - target: { kind: ServiceAccount }\n    patch: "${patch}"\n`,
      'a.yaml': account,
    });
    expect(() => render(directory)).toThrow('at /metadata/name is "a", not "b"');
  });

  it('gives generated names the suffix that kustomize gives them, and follows them in references', () => {
    // The suffix is what kubectl 1.32 (kustomize 5.5) made of the same secret.
    const directory = directoryWith({
      'kustomization.yaml':
        'resources: [p.yaml]\nsecretGenerator: [{ name: angelia-nats, literals: [NATS_TOKEN=dev-only] }]\n',
      'p.yaml':
        'apiVersion: v1\nkind: Pod\nmetadata: { name: p }\nspec: { containers: [{ name: c, envFrom: [{ secretRef: { name: angelia-nats } }] }] }\n',
    });
    const [pod, secret] = render(directory);
    expect(secret?.metadata.name).toBe('angelia-nats-8gcfm78kh8');
    expect(JSON.stringify(pod)).toContain('"secretRef":{"name":"angelia-nats-8gcfm78kh8"}');
  });
});

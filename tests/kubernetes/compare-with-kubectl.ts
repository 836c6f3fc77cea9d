// Holds our own rendering against kubectl's: every object of every overlay must be the same.
//
//   node tests/kubernetes/compare-with-kubectl.ts        # needs kubectl, no cluster

import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { render } from './kustomize.ts';
import { idOf, isObject, type KubernetesObject } from './object.ts';
import { inVariant, variantNames } from './overlays.ts';

let different = 0;
for (const variant of variantNames)
  different += inVariant(variant, (directory) => compare(variant, directory));
process.exitCode = different === 0 ? 0 : 1;

function compare(variant: string, directory: string): number {
  const text = execFileSync('kubectl', ['kustomize', directory], { encoding: 'utf8' });
  const theirs = byId(parseAllDocuments(text).map((document) => document.toJS() as unknown));
  const ours = byId(render(directory));
  const differing = [...new Set([...theirs.keys(), ...ours.keys()])].filter(
    (id) => !isDeepStrictEqual(theirs.get(id), ours.get(id)),
  );
  for (const id of differing) {
    const [kubectl, own] = [theirs, ours].map((all) => JSON.stringify(all.get(id)));
    process.stdout.write(`${variant}: ${id} differs\n  kubectl: ${kubectl}\n  ours:    ${own}\n`);
  }
  process.stdout.write(`${variant}: ${theirs.size} objects, ${differing.length} differ\n`);
  return differing.length;
}

function byId(objects: unknown[]): Map<string, KubernetesObject> {
  return new Map(objects.filter(isObject).map((object) => [idOf(object), object]));
}

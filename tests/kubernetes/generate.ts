import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { at, isMap, type Json, type JsonMap, type KubernetesObject, listAt, mapsIn } from './object.ts';

/** What a ConfigMap or Secret generator of kustomize makes, before its name gets its suffix. */
export interface Generated {
  readonly object: KubernetesObject;
  readonly behavior: string;
  readonly suffix: boolean;
}

const KNOWN = ['name', 'literals', 'files', 'envs', 'behavior', 'options'];

export function generate(kind: 'ConfigMap' | 'Secret', spec: Json, directory: string): Generated {
  if (!isMap(spec) || typeof spec.name !== 'string') throw new Error('a generator has a name');
  const unknown = Object.keys(spec).find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) throw new Error(`the key ${unknown} of a generator is not known here`);
  const options = isMap(spec.options) ? spec.options : {};
  if (Object.keys(options).some((key) => key !== 'disableNameSuffixHash')) {
    throw new Error(`of a generator's options only disableNameSuffixHash is known here`);
  }
  const read = (file: string) => readFileSync(join(directory, file), 'utf8');
  const entries = [
    ...listAt(spec, 'literals').map((literal) => pair(String(literal))),
    ...listAt(spec, 'envs').flatMap((file) => lines(read(String(file))).map(pair)),
    ...listAt(spec, 'files').map((file) => [basename(String(file)), read(String(file))] as const),
  ];
  const data = Object.fromEntries(
    entries.map(([key, value]) => [key, kind === 'Secret' ? Buffer.from(value).toString('base64') : value]),
  );
  return {
    object: {
      apiVersion: 'v1',
      kind,
      metadata: { name: spec.name },
      ...(kind === 'Secret' ? { type: 'Opaque' } : {}),
      data,
    },
    behavior: typeof spec.behavior === 'string' ? spec.behavior : 'create',
    suffix: options.disableNameSuffixHash !== true,
  };
}

function pair(text: string): readonly [string, string] {
  const cut = text.indexOf('=');
  if (cut < 1) throw new Error(`\`${text}\` is not name=value`);
  return [text.slice(0, cut), text.slice(cut + 1)];
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
}

/** The same ten characters as kustomize's own, so that names can be compared with what kubectl makes of it. */
export function nameSuffix(object: KubernetesObject): string {
  const { kind, type, data } = object;
  const sorted = Object.fromEntries(
    Object.entries(isMap(data) ? data : {}).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const hashed = {
    data: Object.keys(sorted).length === 0 ? '' : sorted,
    kind,
    // kustomize looks for a field `metadata/name` and finds none.
    name: '',
    ...(kind === 'Secret' ? { type } : {}),
  };
  // Go's encoder writes these as escapes.
  const text = JSON.stringify(hashed).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const replaced: Readonly<Record<string, string>> = { '0': 'g', '1': 'h', '3': 'k', a: 'm', e: 't' };
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 10);
  return [...digest].map((character) => replaced[character] ?? character).join('');
}

/** Points every reference to a generated ConfigMap or Secret at its new name. */
export function renameReferences(
  objects: readonly KubernetesObject[],
  names: ReadonlyMap<string, string>,
): void {
  const rename = (holder: JsonMap, key: string, kind: string): void => {
    const name = names.get(`${kind}/${holder[key]}`);
    if (name !== undefined) holder[key] = name;
  };
  for (const map of objects.flatMap((object) => [...mapsIn(object)])) {
    for (const reference of ['configMapRef', 'configMapKeyRef', 'configMap']) {
      const holder = at(map, reference);
      if (isMap(holder)) rename(holder, 'name', 'ConfigMap');
    }
    for (const reference of ['secretRef', 'secretKeyRef']) {
      const holder = at(map, reference);
      if (isMap(holder)) rename(holder, 'name', 'Secret');
    }
    if (isMap(map.secret)) rename(map.secret, 'secretName', 'Secret');
  }
}

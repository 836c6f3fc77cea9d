import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { type Generated, generate, nameSuffix, renameReferences } from './generate.ts';
import {
  containersOf,
  idOf,
  isMap,
  isObject,
  type Json,
  type JsonMap,
  type KubernetesObject,
  listAt,
  mapAt,
  textAt,
} from './object.ts';
import { jsonPatch, strategicMerge } from './patch.ts';

/**
 * `kubectl kustomize`, for the part of it that deploy/kubernetes uses, as no package brings the real one. What it does not
 * know it refuses, so that it cannot quietly render less than is written. Where there is a kubectl,
 * compare-with-kubectl.ts holds this against it.
 */
export function render(directory: string): KubernetesObject[] {
  const build = accumulate(directory, emptyBuild());
  const names = new Map<string, string>();
  for (const object of build.objects) {
    if (!build.suffixed.has(idOf(object))) continue;
    const name = `${object.metadata.name}-${nameSuffix(object)}`;
    names.set(idOf(object), name);
    object.metadata.name = name;
  }
  renameReferences(build.objects, names);
  return build.objects;
}

interface Build {
  objects: KubernetesObject[];
  /** Ids of generated objects whose name gets the hash of what is in them. */
  readonly suffixed: Set<string>;
}

const emptyBuild = (): Build => ({ objects: [], suffixed: new Set() });

const KNOWN = [
  'apiVersion',
  'kind',
  'namespace',
  'resources',
  'components',
  'labels',
  'images',
  'replicas',
  'configMapGenerator',
  'secretGenerator',
  'patches',
];

function accumulate(directory: string, into: Build): Build {
  const file = join(directory, 'kustomization.yaml');
  const written: unknown = parse(readFileSync(file, 'utf8'));
  if (!isMap(written)) throw new Error(`${file} is empty`);
  const unknown = Object.keys(written).find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) throw new Error(`${file}: ${unknown} is not known here`);
  for (const entry of listAt(written, 'resources')) {
    const path = join(directory, String(entry));
    if (!statSync(path).isDirectory()) {
      for (const object of readObjects(path)) add(into, object);
      continue;
    }
    // Whatever a directory does to its objects it does to its own only.
    const below = accumulate(path, emptyBuild());
    for (const object of below.objects) add(into, object);
    for (const id of below.suffixed) into.suffixed.add(id);
  }
  // A component sees all that is there so far.
  for (const entry of listAt(written, 'components')) accumulate(join(directory, String(entry)), into);
  for (const spec of listAt(written, 'configMapGenerator'))
    take(into, generate('ConfigMap', spec, directory));
  for (const spec of listAt(written, 'secretGenerator')) take(into, generate('Secret', spec, directory));
  for (const patch of listAt(written, 'patches')) applyPatch(into, patch, directory);
  if (typeof written.namespace === 'string') setNamespace(into.objects, written.namespace);
  for (const labels of listAt(written, 'labels')) setLabels(into.objects, labels);
  for (const replicas of listAt(written, 'replicas')) setReplicas(into.objects, replicas);
  for (const image of listAt(written, 'images')) setImage(into.objects, image);
  return into;
}

function readObjects(path: string): KubernetesObject[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${path}: ${error.message}`);
    const object: unknown = document.toJS();
    if (!isObject(object)) throw new Error(`${path}: a document is no Kubernetes object`);
    return object;
  });
}

function add(build: Build, object: KubernetesObject): void {
  if (build.objects.some((one) => idOf(one) === idOf(object)))
    throw new Error(`${idOf(object)} is there twice`);
  build.objects.push(object);
}

function take(build: Build, generated: Generated): void {
  const { object, behavior, suffix } = generated;
  const place = build.objects.findIndex((one) => idOf(one) === idOf(object));
  const before = build.objects[place];
  if (behavior === 'create') {
    add(build, object);
    if (suffix) build.suffixed.add(idOf(object));
  } else if (before === undefined) {
    throw new Error(`${idOf(object)} is to be ${behavior}d and is not there`);
  } else if (behavior === 'merge' || behavior === 'replace') {
    const kept = behavior === 'merge' ? mapAt(before, 'data') : {};
    build.objects[place] = { ...before, data: { ...kept, ...mapAt(object, 'data') } };
  } else {
    throw new Error(`the behavior ${behavior} of a generator is not known here`);
  }
}

function applyPatch(build: Build, entry: Json, directory: string): void {
  if (!isMap(entry)) throw new Error('a patch is a map');
  const text =
    typeof entry.path === 'string' ? readFileSync(join(directory, entry.path), 'utf8') : entry.patch;
  const patch: unknown = parse(String(text));
  const wanted = isMap(entry.target) ? entry.target : isObject(patch) ? targetOf(patch) : {};
  if (Object.keys(wanted).some((key) => key !== 'kind' && key !== 'name')) {
    throw new Error(`the target of a patch has kind and name only: ${JSON.stringify(wanted)}`);
  }
  const hit = build.objects.filter(
    ({ kind, metadata }) =>
      (wanted.kind ?? kind) === kind && (wanted.name ?? metadata.name) === metadata.name,
  );
  if (hit.length === 0) throw new Error(`a patch meets nothing: ${JSON.stringify(wanted)}`);
  for (const object of hit) {
    const patched = Array.isArray(patch) ? jsonPatch(object, patch) : strategicMerge(object, mapOf(patch));
    if (!isObject(patched)) throw new Error(`a patch leaves no object of ${idOf(object)}`);
    build.objects[build.objects.indexOf(object)] = patched;
  }
}

function targetOf(patch: KubernetesObject): JsonMap {
  return { kind: patch.kind, name: patch.metadata.name };
}

function mapOf(value: unknown): JsonMap {
  if (!isMap(value)) throw new Error('a patch is a map or a list of operations');
  return value;
}

/** Of the kinds that are here. */
const CLUSTER_WIDE = ['Namespace'];

function setNamespace(objects: readonly KubernetesObject[], namespace: string): void {
  for (const object of objects) {
    if (!CLUSTER_WIDE.includes(object.kind)) object.metadata.namespace = namespace;
    else object.metadata.name = namespace;
  }
}

function setLabels(objects: readonly KubernetesObject[], entry: Json): void {
  if (!isMap(entry) || Object.keys(entry).some((key) => key !== 'pairs')) {
    throw new Error('labels have `pairs` only: selectors are written where they are');
  }
  for (const object of objects) {
    object.metadata.labels = { ...mapAt(object, 'metadata.labels'), ...mapAt(entry, 'pairs') };
  }
}

function setReplicas(objects: readonly KubernetesObject[], entry: Json): void {
  const name = textAt(entry, 'name');
  const count = isMap(entry) ? entry.count : undefined;
  const scaled = objects.filter(
    ({ kind, metadata }) => (kind === 'Deployment' || kind === 'StatefulSet') && metadata.name === name,
  );
  if (scaled.length === 0 || count === undefined) throw new Error(`replicas: there is no ${name}`);
  for (const object of scaled) object.spec = { ...mapAt(object, 'spec'), replicas: count };
}

function setImage(objects: readonly KubernetesObject[], entry: Json): void {
  if (!isMap(entry) || Object.keys(entry).some((key) => !['name', 'newName', 'newTag'].includes(key))) {
    throw new Error('an image has name, newName and newTag only');
  }
  for (const container of objects.flatMap(containersOf)) {
    const [name, tag] = String(container.image).split(':');
    if (name !== entry.name) continue;
    const newTag = entry.newTag ?? tag;
    container.image = `${entry.newName ?? name}${newTag === undefined ? '' : `:${newTag}`}`;
  }
}

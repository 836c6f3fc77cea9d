/** Any value of YAML or JSON. */
export type Json = null | boolean | number | string | Json[] | JsonMap;
export interface JsonMap {
  [key: string]: Json;
}

/** The fields that every Kubernetes object has. */
export interface KubernetesObject extends JsonMap {
  apiVersion: string;
  kind: string;
  metadata: JsonMap & { name: string };
}

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isObject(value: unknown): value is KubernetesObject {
  return (
    isMap(value) &&
    typeof value.apiVersion === 'string' &&
    typeof value.kind === 'string' &&
    isMap(value.metadata) &&
    typeof value.metadata.name === 'string'
  );
}

export function idOf(object: KubernetesObject): string {
  return `${object.kind}/${object.metadata.name}`;
}

/** The value at a path such as `spec.template.spec`; undefined if the path does not exist. */
export function at(value: Json | undefined, path: string): Json | undefined {
  let found: Json | undefined = value;
  for (const key of path.split('.')) {
    if (Array.isArray(found)) found = found[Number(key)];
    else if (isMap(found)) found = found[key];
    else return undefined;
  }
  return found;
}

export function mapAt(value: Json | undefined, path: string): JsonMap {
  const found = at(value, path);
  return isMap(found) ? found : {};
}

export function listAt(value: Json | undefined, path: string): Json[] {
  const found = at(value, path);
  return Array.isArray(found) ? found : [];
}

export function textAt(value: Json | undefined, path: string): string | undefined {
  const found = at(value, path);
  return typeof found === 'string' ? found : undefined;
}

/** Every map in this value, including itself. */
export function* mapsIn(value: Json): Generator<JsonMap> {
  if (Array.isArray(value)) for (const item of value) yield* mapsIn(item);
  if (!isMap(value)) return;
  yield value;
  for (const item of Object.values(value)) yield* mapsIn(item);
}

/** A pod, or an object that creates pods. */
export function podSpecOf(object: KubernetesObject): JsonMap | undefined {
  const spec = object.kind === 'Pod' ? object.spec : at(object, 'spec.template.spec');
  return isMap(spec) ? spec : undefined;
}

export function containersOf(object: KubernetesObject): JsonMap[] {
  const spec = podSpecOf(object);
  return spec === undefined
    ? []
    : [...listAt(spec, 'initContainers'), ...listAt(spec, 'containers')].filter(isMap);
}

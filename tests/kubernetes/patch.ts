import { isMap, type Json, type JsonMap } from './object.ts';

/** Lists that a strategic merge merges item by item, and by which key; every other list is replaced. */
const mergeKeys: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  ports: 'containerPort',
};

/** As `kubectl patch --type=strategic`, for the lists above. */
export function strategicMerge(base: JsonMap, patch: JsonMap): JsonMap {
  const merged: JsonMap = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) throw new Error(`the directive ${key} in a patch is not known here`);
    const before = merged[key];
    if (value === null) delete merged[key];
    else if (isMap(value)) merged[key] = strategicMerge(isMap(before) ? before : {}, value);
    else if (Array.isArray(value)) merged[key] = mergeLists(Array.isArray(before) ? before : [], value, key);
    else merged[key] = value;
  }
  return merged;
}

function mergeLists(base: Json[], patch: Json[], name: string): Json[] {
  const mergeKey = mergeKeys[name];
  if (mergeKey === undefined || !patch.every(isMap)) return patch;
  const merged = [...base];
  for (const item of patch) {
    const id = item[mergeKey];
    if (id === undefined) throw new Error(`an item of ${name} in a patch has no ${mergeKey}`);
    const place = merged.findIndex((one) => isMap(one) && one[mergeKey] === id);
    const before = merged[place];
    if (isMap(before)) merged[place] = strategicMerge(before, item);
    else merged.push(item);
  }
  return merged;
}

/** RFC 6902, without `move` and `copy`. */
export function jsonPatch(document: JsonMap, operations: Json[]): JsonMap {
  const patched = structuredClone(document);
  for (const operation of operations) {
    if (!isMap(operation)) throw new Error('an operation of a JSON patch is a map');
    applyOperation(patched, operation);
  }
  return patched;
}

function applyOperation(document: JsonMap, operation: JsonMap): void {
  const { op, path, value } = operation;
  const keys = String(path)
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  let parent: Json | undefined = document;
  for (const key of keys) parent = child(parent, key);
  const there = child(parent, last);
  const missing = new Error(`there is nothing at ${path}`);
  if (op === 'test') {
    if (JSON.stringify(there) !== JSON.stringify(value)) {
      throw new Error(`at ${path} is ${JSON.stringify(there)}, not ${JSON.stringify(value)}`);
    }
  } else if (op === 'add' && Array.isArray(parent) && value !== undefined) {
    parent.splice(last === '-' ? parent.length : Number(last), 0, value);
  } else if ((op === 'add' || op === 'replace') && value !== undefined) {
    if (op === 'replace' && there === undefined) throw missing;
    if (Array.isArray(parent)) parent[Number(last)] = value;
    else if (isMap(parent)) parent[last] = value;
    else throw missing;
  } else if (op === 'remove') {
    if (there === undefined) throw missing;
    if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else if (isMap(parent)) delete parent[last];
  } else {
    throw new Error(`the operation ${JSON.stringify(op)} of a JSON patch is not known here`);
  }
}

function child(parent: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(parent)) return parent[Number(key)];
  return isMap(parent) ? parent[key] : undefined;
}

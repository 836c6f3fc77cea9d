export { pruneNow } from './prune.ts';
export { rebuildNow } from './rebuild.ts';

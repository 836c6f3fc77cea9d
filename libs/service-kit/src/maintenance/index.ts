export { pruneNow } from './prune-now.ts';
export { rebuildNow } from './rebuild-now.ts';

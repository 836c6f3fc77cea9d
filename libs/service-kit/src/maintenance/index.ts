export { StartupError } from '../startup-error.ts';
export { pruneNow } from './prune.ts';
export { rebuildNow } from './rebuild.ts';

export { StartupError } from '@angelia/config';
export { pruneNow } from './prune.ts';
export { rebuildNow } from './rebuild.ts';

export { runCommand } from '../commands/command-line.ts';
export { exportTo } from './archive.ts';
export { exportFiles, importFiles } from './archive-files.ts';
export {
  CONNECTIONS_PER_SERVICE,
  type ExaminedDatabase,
  type ExaminedSchema,
  examineDatabase,
  type OpenWriter,
} from './examine.ts';
export { type LastHour, readLastHour } from './last-hour.ts';
export { migrate } from './migrate.ts';
export { eraseSession, isRebuilding, type Pruned, pruneSessions } from './prune.ts';
export { type ChatsSeen, readChats } from './read-chats.ts';
export { type RebuildResult, rebuildViews } from './rebuild.ts';
export { upgradeViews } from './upgrade-views.ts';

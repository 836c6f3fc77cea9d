export { type Leader, type LeaderOptions, type LedLoop, type StartLeader, startLeader } from './leader.ts';

export { type LedLoop, startLeader } from './leader.ts';

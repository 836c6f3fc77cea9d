export { startLeader } from './leader.ts';

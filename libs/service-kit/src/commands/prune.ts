import { runCommand } from '@angelia/event-log/admin';
import { pruneNow } from '../maintenance/prune.ts';

/** `prune [days]`; `angelia prune` is the same for people. */
await runCommand('prune', async (url) => {
  const [, , given] = process.argv;
  const days = given === undefined ? undefined : Number(given);
  if (days !== undefined && !(days > 0)) throw new Error(`${given} is no number of days`);
  const { sessions, keys } = await pruneNow({
    url,
    env: process.env,
    ...(days === undefined ? {} : { days }),
  });
  return [`pruned ${sessions} sessions and ${keys} keys`];
});

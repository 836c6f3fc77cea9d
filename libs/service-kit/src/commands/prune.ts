import { runCommand } from '@angelia/event-log/admin';
import { pruneNow } from '../maintenance/prune-now.ts';

/** `prune [days]`; people use `angelia prune`. */
await runCommand('prune', async (url) => {
  const [, , given] = process.argv;
  const days = given === undefined ? undefined : Number(given);
  if (days !== undefined && !(days > 0))
    throw new Error(`"${given}" is not a number of days. Use a number greater than 0`);
  const { sessions, keys } = await pruneNow({
    url,
    env: process.env,
    ...(days === undefined ? {} : { days }),
  });
  return [`pruned ${sessions} sessions and ${keys} keys`];
});

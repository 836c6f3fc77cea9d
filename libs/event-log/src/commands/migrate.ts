import { migrate, raiseEpoch } from '../admin/migrate.ts';
import { waitForPostgres } from '../admin/wait-for-postgres.ts';
import { runCommand } from './command-line.ts';

/**
 * How long `migrate` waits for a Postgres that is away. Ten minutes: recovery after a crash may read gigabytes of WAL, and
 * a new cluster may first have to get its volume and image.
 */
const WAIT_SECONDS = 600;

/** `migrate` brings the schema up to date; `migrate --raise-epoch` after a restore into another cluster. */
await runCommand('migrate', async (url) => {
  // Not repeated while Postgres is away: a person runs it, and it must not happen twice.
  if (process.argv.includes('--raise-epoch')) {
    const { epoch, warnings } = await raiseEpoch({ url });
    return [...warnings.map((text) => `warning: ${text}`), `the log's epoch is now ${epoch}`];
  }
  const { applied, warnings } = await waitForPostgres(() => migrate({ url }), {
    limitSeconds: waitSeconds(),
    say: (line) => console.error(`migrate: ${line}`),
  });
  const done = applied.length === 0 ? 'the schema is up to date' : `applied ${applied.join(', ')}`;
  return [...warnings.map((text) => `warning: ${text}`), done];
});

function waitSeconds(): number {
  const text = process.env.ANGELIA_MIGRATE_WAIT_SECONDS;
  const seconds = text ? Number(text) : WAIT_SECONDS;
  if (seconds >= 0) return seconds;
  throw new Error(
    `ANGELIA_MIGRATE_WAIT_SECONDS (environment): "${text}" is not a number of seconds; set it to e.g. ${WAIT_SECONDS}`,
  );
}

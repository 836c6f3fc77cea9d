import { messageOf } from '../connection/postgres-errors.ts';
import { LogError } from '../errors.ts';

/** EX_CONFIG: a person must act, and a restart does not help. The launcher does not restart after it. */
const EXIT_CONFIG = 78;

/** An error is one clear line and an exit code, not a stack trace. */
export async function runCommand(what: string, work: (url: string) => Promise<string[]>): Promise<void> {
  const url = process.env.DATABASE_URL;
  if (url === undefined || url === '') {
    console.error(
      `angelia: ${what}: DATABASE_URL is not set: set it to the url of the Postgres that holds the log`,
    );
    process.exitCode = EXIT_CONFIG;
    return;
  }
  try {
    for (const line of await work(url)) console.log(line);
  } catch (error) {
    console.error(`angelia: ${what}: ${messageOf(error)}`);
    process.exitCode = error instanceof LogError && error.retryable ? 1 : EXIT_CONFIG;
  }
}

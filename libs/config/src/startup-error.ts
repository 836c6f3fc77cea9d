import { AngeliaError } from '@angelia/contracts';

/** EX_CONFIG of sysexits.h: a restart does not help until somebody changes something. */
export const EXIT_CONFIG = 78;

/**
 * A reason not to start that the user can correct: the config, the environment, the database's role or cluster. Thrown
 * during the start only: `runService` prints its lines and exits with 78, and the launcher does not restart it.
 */
export class StartupError extends AngeliaError {
  readonly code = 'startup_refused';
  readonly retryable = false;
  override readonly name = 'StartupError';
  /** One line for each problem; stderr shows it as `angelia: <line>`. */
  readonly lines: readonly string[];

  constructor(lines: readonly string[], options?: ErrorOptions) {
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** What the user reads: one line for each problem. The launcher repeats the first. */
export function startupMessage(error: StartupError): string {
  return error.lines.map((line) => `angelia: ${line.replaceAll('\n', ' ')}\n`).join('');
}

/** sysexits.h EX_CONFIG: someone has to change something first, so that starting again is of no use. */
export const EXIT_CONFIG = 78;

/**
 * A reason not to start that the user can mend: the config, the environment, the database's role or cluster.
 * Thrown on the way up only; `runService` prints its lines and exits with 78, which the launcher does not restart.
 */
export class StartupError extends Error {
  readonly code = 'startup_refused';
  readonly retryable = false;
  override readonly name = 'StartupError';
  /** Each is one problem and goes to stderr as `angelia: <line>`. */
  readonly lines: readonly string[];

  constructor(lines: readonly string[], options?: ErrorOptions) {
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** What the user reads; one line per problem, the first of which the launcher repeats. */
export function startupMessage(error: StartupError): string {
  return error.lines.map((line) => `angelia: ${line.replaceAll('\n', ' ')}\n`).join('');
}

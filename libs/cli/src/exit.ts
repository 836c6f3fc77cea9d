/** What a script can tell from the exit code. They are part of the interface: add, never change. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unauthorised: 4,
  unreachable: 5,
  refused: 6,
  tryLater: 7,
  timedOut: 8,
  config: 78,
  interrupted: 130,
  nobodyReads: 141,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** In the order of docs/cli.md. */
export const exitMeanings: readonly [code: ExitCode, name: string, meaning: string][] = [
  [EXIT.ok, 'ok', 'success'],
  [EXIT.failed, 'failed', 'failure; with `--wait`: the session ended with an outcome other than `succeeded`'],
  [EXIT.usage, 'usage', 'wrong arguments or options, or malformed input'],
  [EXIT.notFound, 'not_found', 'there is no such session, delivery, process, route or dead letter'],
  [
    EXIT.unauthorised,
    'unauthorised',
    'no admin token, a wrong one, or a webhook whose signature was refused',
  ],
  [EXIT.unreachable, 'unreachable', 'the server (or the database) does not answer'],
  [EXIT.refused, 'refused', 'not possible in the current state: no open question, or already ended'],
  [EXIT.tryLater, 'try_later', 'the server asks to try again later: a rate limit, or an outage behind it'],
  [EXIT.timedOut, 'timed_out', 'the time of `--timeout` was over'],
  [EXIT.config, 'config', 'the config file or an environment variable is wrong'],
  [EXIT.interrupted, 'interrupted', 'Ctrl-C'],
  [EXIT.nobodyReads, 'nobody_reads', 'the reader of its output (`head`) closed the pipe'],
];

/**
 * Ends a command. Thrown anywhere, caught once (cli.ts): the message is the one line that the user reads, and never holds
 * a secret or a stack.
 */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  /** A second line: what to try. */
  readonly advice: string | null;

  constructor(exitCode: ExitCode, message: string, advice: string | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

export function nameOfExit(code: ExitCode): string {
  return exitMeanings.find(([each]) => each === code)?.[1] ?? 'failed';
}

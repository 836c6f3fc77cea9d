import { AngeliaError } from '@angelia/contracts/errors';

/** Scripts read these codes. They are part of the interface: add codes, never change one. */
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

/** Exit codes after which the same command can succeed later. */
const RETRYABLE: readonly ExitCode[] = [EXIT.unreachable, EXIT.tryLater];

/**
 * Ends a command. Any code may throw it, and cli.ts catches it. The message is the one line that the user reads: it never
 * holds a secret or a stack. `whatToDo` is the second line.
 */
export class CliError extends AngeliaError {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly retryable: boolean;
  override readonly whatToDo: string | null;

  constructor(exitCode: ExitCode, message: string, whatToDo: string | null = null) {
    super(message);
    this.exitCode = exitCode;
    this.code = exitMeanings.find(([each]) => each === exitCode)?.[1] ?? 'failed';
    this.retryable = RETRYABLE.includes(exitCode);
    this.whatToDo = whatToDo;
  }
}

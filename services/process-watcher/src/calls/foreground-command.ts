import type { SessionId } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { HostCommands } from '../commands/host-commands.ts';
import { outputEnd, readOutput, readTail, shownOutput } from '../commands/read-output.ts';
import { foregroundName } from '../session-directories.ts';
import { ERRORS, OUTPUT } from '../supervisor/protocol.ts';

/** A command that a call runs and waits for: `terminal` in the foreground, or an agent of kind `command`. */
interface ForegroundCommand {
  readonly sessionId: SessionId;
  readonly callId: string;
  readonly argv: readonly string[];
  readonly cwd?: string | undefined;
  /** Written to its standard input, which is then closed. */
  readonly stdin?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** As in `HostCommands`. */
  readonly sharedDirectories?: readonly string[];
  readonly timeoutSeconds: number;
  /** Keeps stderr out of the output, in `errors`. */
  readonly separateErrors?: boolean;
  /** How much of the output to keep; by default as configured. At least half of it can be read afterwards. */
  readonly keepBytes?: number;
}

export type ForegroundEnd =
  | {
      readonly kind: 'ended';
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly timedOut: boolean;
      /** The session's commands used too much memory together, and all of them were ended. */
      readonly overMemory: boolean;
      readonly durationSeconds: number;
      /** How many processes it left running, which were ended with it. */
      readonly leftRunning: number;
      /** How much it printed. */
      readonly outputBytes: number;
    }
  | { readonly kind: 'not_started'; readonly reason: string }
  /** It was started, and nobody knows how it ended. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** The caller's `stop` ended it. */
  | { readonly kind: 'stopped' };

/** Between SIGTERM and SIGKILL. Short, because somebody waits for the result. */
const FOREGROUND_GRACE_MS = 2_000;

/**
 * Runs one command once, however often this is called for the same call: after a restart of the watcher it waits for the
 * command that was started before. The supervisor keeps the time limit. `stop` ends the command. `signal` only ends the
 * waiting, by a throw: the command keeps running.
 */
export async function runForeground(
  command: ForegroundCommand,
  commands: HostCommands,
  { stop, signal }: { readonly stop: AbortSignal; readonly signal: AbortSignal },
): Promise<ForegroundEnd> {
  const { sessionId, callId } = command;
  const name = foregroundName(callId);
  const started = await commands.start({
    sessionId,
    name,
    argv: command.argv,
    cwd: command.cwd,
    environment: command.environment,
    sharedDirectories: command.sharedDirectories,
    stdin: command.stdin === undefined ? 'none' : { text: command.stdin },
    separateErrors: command.separateErrors ?? false,
    keepBytes: command.keepBytes,
    lifetimeSeconds: command.timeoutSeconds,
    endLeftovers: true,
    graceMs: FOREGROUND_GRACE_MS,
  });
  if (started.status === 'failed') return { kind: 'not_started', reason: started.reason };
  const onStop = (): void => {
    void commands.stop(sessionId, name, FOREGROUND_GRACE_MS).catch(() => {});
  };
  if (stop.aborted) onStop();
  stop.addEventListener('abort', onStop, { once: true });
  try {
    const end = await commands.untilEnded(sessionId, name, signal);
    const strays = await commands.endStraysOf(sessionId, name, 'end');
    if (stop.aborted) return { kind: 'stopped' };
    if (end.kind === 'lost') return end;
    return {
      kind: 'ended',
      exitCode: end.exit.exit_code,
      signal: end.exit.signal,
      timedOut: end.exit.limit === 'lifetime',
      overMemory: end.exit.limit === 'memory',
      durationSeconds: end.exit.duration_seconds,
      leftRunning: end.exit.left_running + strays,
      outputBytes: end.exit.output_bytes,
    };
  } finally {
    stop.removeEventListener('abort', onStop);
  }
}

/** What the command printed, as a model sees it. */
export function foregroundOutput(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: HostCommands,
  limit: number,
): string {
  return toStorable(shownOutput(commands.directory(sessionId, foregroundName(callId)), OUTPUT, limit));
}

/** How many bytes were printed but not written, because the disk was full. */
export function lostBytes(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: HostCommands,
  printed: number,
): number {
  return printed - outputEnd(commands.directory(sessionId, foregroundName(callId)), OUTPUT);
}

/** What the command has printed so far, from byte `from` on: for a reader that follows it. */
export function foregroundOutputFrom(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: HostCommands,
  from: number,
  limit: number,
) {
  return readOutput(commands.directory(sessionId, foregroundName(callId)), OUTPUT, from, limit);
}

/** The end of what the command wrote to stderr, if that is kept apart. */
export function foregroundErrors(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: HostCommands,
  limit: number,
): string {
  const tail = readTail(commands.directory(sessionId, foregroundName(callId)), ERRORS, limit);
  return toStorable(tail.bytes.toString('utf8'));
}

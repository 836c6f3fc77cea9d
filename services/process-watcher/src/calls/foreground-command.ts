import type { SessionId } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import type { Commands } from '../commands/host-commands.ts';
import { outputEnd, readOutput, readTail, shownOutput } from '../commands/read-output.ts';
import { foregroundName } from '../session-directories.ts';
import { ERRORS, OUTPUT } from '../supervisor/protocol.ts';

/** What a call runs and waits for: `terminal` in the foreground, an agent of kind `command`. */
export interface ForegroundCommand {
  readonly sessionId: SessionId;
  readonly callId: string;
  readonly argv: readonly string[];
  readonly cwd?: string | undefined;
  /** Written to its standard input, which then ends. */
  readonly stdin?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly timeoutSeconds: number;
  /** Keeps stderr out of the output; it is in `errors` then. */
  readonly separateErrors?: boolean;
  /** How much of it is kept; default: as configured. At least half of it can be read afterwards. */
  readonly keepBytes?: number;
}

export type ForegroundEnd =
  | {
      readonly kind: 'ended';
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly timedOut: boolean;
      /** The session's commands had too much memory together: all of them were ended. */
      readonly overMemory: boolean;
      readonly durationSeconds: number;
      /** Processes that it left running, and that were ended with it. */
      readonly leftRunning: number;
      /** All that it printed. */
      readonly outputBytes: number;
    }
  | { readonly kind: 'not_started'; readonly reason: string }
  /** Begun, and how it ended nobody knows. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** By the caller's signal. */
  | { readonly kind: 'stopped' };

/** Between SIGTERM and SIGKILL: somebody waits for the result, and has waited for long enough. */
const FOREGROUND_GRACE_MS = 2_000;

/**
 * One command, run once however often this is called for the same call: after a restart of the watcher it goes on waiting
 * for what was begun before. The time limit is kept by the supervisor. `stop` ends it; `signal` only ends the waiting
 * (it throws then): the command goes on.
 */
export async function runForeground(
  command: ForegroundCommand,
  commands: Commands,
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

/** What it printed, as a model sees it. */
export function foregroundOutput(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: Commands,
  limit: number,
): string {
  return storable(shownOutput(commands.directory(sessionId, foregroundName(callId)), OUTPUT, limit));
}

/** Printed, and not written: the disk was full. */
export function lostBytes(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: Commands,
  printed: number,
): number {
  return printed - outputEnd(commands.directory(sessionId, foregroundName(callId)), OUTPUT);
}

/** What it has printed so far from byte `from` on: for whoever reads along. */
export function foregroundOutputFrom(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: Commands,
  from: number,
  limit: number,
) {
  return readOutput(commands.directory(sessionId, foregroundName(callId)), OUTPUT, from, limit);
}

/** The last of what it wrote to stderr, where that is kept apart. */
export function foregroundErrors(
  { sessionId, callId }: Pick<ForegroundCommand, 'sessionId' | 'callId'>,
  commands: Commands,
  limit: number,
): string {
  const tail = readTail(commands.directory(sessionId, foregroundName(callId)), ERRORS, limit);
  return storable(tail.bytes.toString('utf8'));
}

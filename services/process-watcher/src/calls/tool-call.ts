import type { Config, EventData, SessionId } from '@angelia/contracts';
import { type SessionCommand, WATCHER_TOOLS } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { BackgroundProcesses } from '../background/background-processes.ts';
import type { HostCommands } from '../commands/host-commands.ts';

/** A tool call that the log shows as started and that has no result yet. */
export interface OpenCall {
  readonly callId: string;
  readonly tool: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
  /** The trace context of the call's own span, which the runner exports. */
  readonly traceparent: string | undefined;
  /** By the database's clock. */
  readonly startedAt: number;
}

/** A tool call that this watcher carries out. */
export interface Call extends Omit<OpenCall, 'startedAt'> {
  readonly sessionId: SessionId;
  /** The session when the call was taken. */
  readonly loaded: Loaded;
  /** When that was, by the database's clock. */
  readonly takenUpAt: number;
  /** Aborted when nobody waits for the result any more (cancel, interrupt): end what runs for the call. */
  readonly stop: AbortSignal;
  /** Aborted when this watcher is shutting down: stop waiting, and end nothing. The next watcher continues. */
  readonly signal: AbortSignal;
}

export interface CallResult {
  readonly outcome: EventData<'tool.finished'>['outcome'];
  readonly result: string;
  /** Recorded ahead of the result, in the same append. */
  readonly also?: readonly SessionCommand[];
  /** Called after the append. */
  readonly recorded?: () => void;
  /** Called if the log refuses the result because the call was closed meanwhile. Undoes what can be undone. */
  readonly refused?: () => Promise<void>;
}

/** What a tool works with. */
export interface ToolDeps {
  readonly config: Config;
  readonly commands: HostCommands;
  readonly background: BackgroundProcesses;
  readonly instance: string;
}

export function ok(result: Readonly<Record<string, unknown>>, more: Partial<CallResult> = {}): CallResult {
  return { outcome: 'ok', result: JSON.stringify(result), ...more };
}

/** What a model reads when it asked for something that cannot be done. */
export function failed(error: string, more: Partial<CallResult> = {}): CallResult {
  return { outcome: 'error', result: JSON.stringify({ error }), ...more };
}

/** For a program that is an agent and took longer than its run may. */
export function outOfTime(error: string, more: Partial<CallResult> = {}): CallResult {
  return { outcome: 'error', result: JSON.stringify({ error, code: 'timeout' }), ...more };
}

/** For a call that was started and whose effect is unknown. */
export function unknownOutcome(error: string, more: Partial<CallResult> = {}): CallResult {
  return { outcome: 'unknown', result: JSON.stringify({ error }), ...more };
}

/** The calls that wait for a watcher, in order. */
export function openCalls({ state, events }: Pick<Loaded, 'state' | 'events'>): OpenCall[] {
  if (state.ended !== null) return [];
  return (state.turns[0]?.calls ?? [])
    .filter((call) => call.status === 'started' && WATCHER_TOOLS.includes(call.tool))
    .map((call) => {
      const started = events.findLast(
        ({ type, data }) =>
          type === 'tool.started' && (data as EventData<'tool.started'>).call_id === call.id,
      );
      return {
        callId: call.id,
        tool: call.tool,
        arguments: (started?.data as EventData<'tool.started'> | undefined)?.arguments ?? '',
        traceparent: started?.meta.traceparent ?? state.created?.traceparent ?? undefined,
        startedAt: call.startedAt ?? state.lastActivityAt,
      };
    });
}

/** A call's arguments. What is not JSON stays a text, which no tool accepts. */
export function parseArguments(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return json;
  }
}

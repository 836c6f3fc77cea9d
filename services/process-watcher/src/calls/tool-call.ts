import type { EventData, SessionId } from '@angelia/contracts';
import { type SessionCommand, WATCHER_TOOLS } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';

/** A tool call that was begun and is ours to carry out. */
export interface Call {
  readonly sessionId: SessionId;
  readonly callId: string;
  readonly tool: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
  /** Of the run that began it. */
  readonly traceparent: string | undefined;
  /** As it was when the call was taken up. */
  readonly loaded: Loaded;
  /** When that was, by the database's clock. */
  readonly takenUpAt: number;
  /** Nobody waits for the result any more (cancel, interrupt): end what runs for it. */
  readonly stop: AbortSignal;
  /** This watcher goes down: stop waiting, and end nothing. Whoever starts next goes on with it. */
  readonly signal: AbortSignal;
}

/** What becomes of it. */
export interface CallEnd {
  readonly outcome: EventData<'tool.finished'>['outcome'];
  readonly result: string;
  /** Recorded ahead of the result, in the same append. */
  readonly also?: readonly SessionCommand[];
  /** After the append. */
  readonly recorded?: () => void;
  /** The log does not take it: the call was closed meanwhile. Undo what can be undone. */
  readonly refused?: () => Promise<void>;
}

export function ok(result: Readonly<Record<string, unknown>>, more: Partial<CallEnd> = {}): CallEnd {
  return { outcome: 'ok', result: JSON.stringify(result), ...more };
}

/** What a model reads when it asked for something that cannot be. */
export function failed(error: string, more: Partial<CallEnd> = {}): CallEnd {
  return { outcome: 'error', result: JSON.stringify({ error }), ...more };
}

export interface OpenedCall {
  readonly callId: string;
  readonly tool: string;
  readonly arguments: string;
  /** Of the run that began it. */
  readonly traceparent: string | undefined;
  /** By the database's clock. */
  readonly startedAt: number;
}

/** The calls that wait for a watcher, in order. */
export function callsToCarryOut({ state, events }: Pick<Loaded, 'state' | 'events'>): OpenedCall[] {
  if (state.ended !== null) return [];
  return (state.turns[0]?.calls ?? [])
    .filter((call) => call.status === 'started' && WATCHER_TOOLS.includes(call.tool))
    .map((call) => {
      const begun = events.findLast(
        ({ type, data }) =>
          type === 'tool.started' && (data as EventData<'tool.started'>).call_id === call.id,
      );
      return {
        callId: call.id,
        tool: call.tool,
        arguments: (begun?.data as EventData<'tool.started'> | undefined)?.arguments ?? '',
        traceparent: begun?.meta.traceparent ?? state.created?.traceparent ?? undefined,
        startedAt: call.startedAt ?? state.lastActivityAt,
      };
    });
}

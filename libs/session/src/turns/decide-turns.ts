import type { DeliveryTarget, EventData, SessionFact, TranscriptMessage } from '@angelia/contracts';
import { accept, alreadySo, type Decision, fact, refuse } from '../decision.ts';
import { open } from '../guards.ts';
import type { OpenTurn, SessionState, TurnSource } from '../state.ts';
import { iso, seconds } from '../time.ts';

/**
 * Turns: inputs that want an answer. They are numbered and answered in order, one at a time.
 *
 *   requested (queued) --webhook.coalesced--> requested      the input is replaced, until a run starts
 *   requested --run.started--> started --final-response--> answered
 *   requested --process.completion-consumed--> withdrawn      a notice about what the model knows by now
 *   requested | started --run.cancelled--> cancelled          interrupted by a newer one, or the session cancelled;
 *                                                            also when a newer one takes the place of its question
 *
 * A session begins with its first turn. `deliver_only` sessions are answered and ended in the same decision: the
 * rendered prompt is the answer and no agent works on it.
 */
export interface CreateSession {
  readonly type: 'create-session';
  readonly route: string;
  readonly event: string | null;
  readonly deliveryId: string;
  readonly title: string;
  readonly agent: string;
  readonly toolsets?: readonly string[] | null;
  readonly skills?: readonly string[];
  readonly deliver: DeliveryTarget;
  readonly fallbackTarget?: DeliveryTarget | null;
  readonly interim?: 'message' | 'edit' | 'off';
  readonly deliverOnly?: boolean;
  readonly sessionKey?: string | null;
  /** A continuation: the session that it goes on from, and that one's transcript. */
  readonly continues?: string | null;
  readonly history?: readonly TranscriptMessage[];
  readonly startAfter?: number | null;
  readonly queueDeadline?: number | null;
  readonly maxConcurrency?: number | null;
  /** Its route was made by API: what such routes may do is asked again whenever a run starts. */
  readonly apiRoute?: boolean;
  /** Random: see untrusted.ts. */
  readonly fenceSeed?: string | null;
  readonly source?: Exclude<TurnSource, 'process'>;
  readonly input: string;
}

export interface RequestTurn {
  readonly type: 'request-turn';
  readonly source: Exclude<TurnSource, 'process'>;
  readonly input: string;
  /** Taken once per id. Null: every request is a new turn (the append's idempotency key may still say otherwise). */
  readonly deliveryId: string | null;
  /** The append carries an idempotency key, which alone says whether it was taken before (see `known`). */
  readonly keyed?: boolean;
  readonly startAfter?: number | null;
  readonly queueDeadline?: number | null;
  /** Route key `on_busy: interrupt`: the turn under way is cancelled, the session goes on with this one. */
  readonly interrupt?: boolean;
  /**
   * Who sends this could have answered the open question and says something else: the question is closed, its turn is
   * cancelled, and this one need not wait until nobody may answer any more. Without an open question: nothing.
   */
  readonly supersede?: boolean;
}

export interface CoalesceWebhook {
  readonly type: 'coalesce-webhook';
  readonly deliveryId: string;
  /** As in RequestTurn. */
  readonly keyed?: boolean;
  readonly input: string;
  readonly startAfter: number;
  /** Null: as it was. */
  readonly queueDeadline?: number | null;
  readonly traceparent?: string | null;
}

export function createSession(state: SessionState, command: CreateSession): Decision {
  if (state.created !== null) {
    return state.created.deliveryId === command.deliveryId
      ? alreadySo
      : refuse('session_exists', 'this stream already holds another session');
  }
  const deliverOnly = command.deliverOnly ?? false;
  const source = command.source ?? 'webhook';
  const events: SessionFact[] = [
    fact('session.created', {
      route: command.route,
      event: command.event,
      delivery_id: command.deliveryId,
      title: command.title,
      agent: command.agent,
      toolsets: command.toolsets ? [...command.toolsets] : null,
      skills: [...(command.skills ?? [])],
      deliver: command.deliver,
      fallback_target: command.fallbackTarget ?? null,
      interim: command.interim ?? 'message',
      deliver_only: deliverOnly,
      session_key: command.sessionKey ?? null,
      continues: command.continues ?? null,
      start_after: isoOrNull(command.startAfter),
      queue_deadline: isoOrNull(command.queueDeadline),
      max_concurrency: command.maxConcurrency ?? null,
      ...(command.apiRoute ? { api_route: true } : {}),
      ...(command.fenceSeed ? { fence_seed: command.fenceSeed } : {}),
    }),
    turnRequested({
      turn: 1,
      source,
      input: command.input,
      delivery_id: command.deliveryId,
      history: (command.history ?? []).map(bare),
    }),
  ];
  if (deliverOnly) {
    events.push(
      fact('session.final-response', {
        generation: null,
        turn: 1,
        text: command.input,
        outcome: 'succeeded',
        // Not an agent's answer: `[SILENT]` in somebody's payload is text. Nothing at all cannot be sent.
        silent: command.input.trim() === '',
      }),
      fact('session.ended', { outcome: 'succeeded', reason: `${source}_complete`, detail: null }),
    );
  }
  return accept(...events);
}

export function requestTurn(state: SessionState, command: RequestTurn): Decision {
  const { deliveryId } = command;
  if (deliveryId !== null && !command.keyed && known(state, deliveryId)) return alreadySo;
  const closed = open(state);
  if (closed !== null) return closed;
  const requested = turnRequested({
    turn: state.lastTurn + 1,
    source: command.source,
    input: command.input,
    delivery_id: deliveryId,
    start_after: isoOrNull(command.startAfter),
    queue_deadline: isoOrNull(command.queueDeadline),
  });
  const { clarification } = state;
  const head = state.turns[0];
  const givesWay = command.interrupt || (command.supersede && clarification !== null);
  if (!givesWay || head === undefined || head.startedAt === null) return accept(requested);
  return accept(
    // The question that is open is always of the turn under way.
    ...(clarification === null
      ? []
      : [fact('clarification.superseded', { clarification_id: clarification.id })]),
    fact('run.cancelled', { generation: state.run?.generation ?? null, turn: head.turn, by: command.source }),
    requested,
  );
}

export function coalesceWebhook(state: SessionState, command: CoalesceWebhook): Decision {
  if (!command.keyed && known(state, command.deliveryId)) return alreadySo;
  const closed = open(state);
  if (closed !== null) return closed;
  const turn = waitingWebhook(state);
  if (turn === undefined)
    return refuse('turn_started', 'the run has begun: this webhook needs a turn of its own');
  return accept(
    fact('webhook.coalesced', {
      delivery_id: command.deliveryId,
      turn: turn.turn,
      input: command.input,
      start_after: iso(command.startAfter),
      queue_deadline: isoOrNull(command.queueDeadline),
      traceparent: command.traceparent ?? null,
    }),
  );
}

/** The webhook that a further one may replace: the last that no run has begun. */
export function waitingWebhook(state: SessionState): OpenTurn | undefined {
  return state.turns.findLast((open) => open.source === 'webhook' && open.startedAt === null);
}

/**
 * When a turn may start after one more webhook came into its window: a whole window later, but not past the longest
 * wait of the first one, and never earlier than was said before.
 */
export function windowEnd(
  turn: Pick<OpenTurn, 'requestedAt' | 'startAfter'>,
  now: number,
  window: { readonly seconds: number; readonly maxWaitSeconds: number },
): number {
  const latest = turn.requestedAt + seconds(window.maxWaitSeconds);
  return Math.max(turn.startAfter ?? 0, Math.min(now + seconds(window.seconds), latest));
}

/** The defaults of `turn.requested` in one place: what is written is complete. */
export function turnRequested(
  data: Pick<EventData<'turn.requested'>, 'turn' | 'source' | 'input'> & Partial<EventData<'turn.requested'>>,
): SessionFact {
  return fact('turn.requested', {
    notice: null,
    delivery_id: null,
    start_after: null,
    queue_deadline: null,
    history: [],
    ...data,
  });
}

/** A row of a transcript without what we note beside it. */
function bare({ role, content, tool_calls, tool_call_id }: TranscriptMessage): TranscriptMessage {
  return {
    role,
    content,
    ...(tool_calls ? { tool_calls } : {}),
    ...(tool_call_id ? { tool_call_id } : {}),
  };
}

/**
 * By the ids that the state remembers, for callers without an idempotency key. Not for webhooks: an id made of the
 * content only says that two bodies are equal, and after its time the same alert is a new one.
 */
function known(state: SessionState, deliveryId: string): boolean {
  return state.recentDeliveryIds.includes(deliveryId);
}

function isoOrNull(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : iso(time);
}

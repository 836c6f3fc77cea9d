import type {
  DeliveryTarget,
  EventData,
  EventImage,
  ReceivedFile,
  SessionFact,
  TranscriptMessage,
} from '@angelia/contracts';
import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { refuseUnlessOpen } from '../guards.ts';
import { type OpenTurn, openApproval, type SessionState, type TurnSource } from '../state.ts';
import { iso, seconds } from '../time.ts';

/**
 * Turns: inputs that want an answer. They are numbered and answered in order, one at a time.
 *
 *   requested (queued) --webhook.coalesced--> requested      replaces the input, until a run starts
 *   requested --run.started--> started --final-response--> answered
 *   requested --process.completion-consumed--> withdrawn      a notice about what the model already knows
 *   requested | started --run.cancelled--> cancelled          interrupted or superseded by a newer turn, or the session
 *                                                            was cancelled
 *
 * A session begins with its first turn. A `deliver_only` session is answered and ended in the same decision: the rendered
 * prompt is the answer, and no agent works on it.
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
  /** For the answer to a command: the session that it is about. */
  readonly about?: string | null;
  /** For a continuation: the session that it continues, and the transcript of that session. */
  readonly continues?: string | null;
  readonly history?: readonly TranscriptMessage[];
  /** For a continuation: the first session of the conversation, and the watcher that has its files. */
  readonly conversationId?: string | null;
  readonly watcher?: string | null;
  readonly startAfter?: number | null;
  readonly queueDeadline?: number | null;
  readonly maxConcurrency?: number | null;
  /** The route was made through the API. What such routes may do is checked again whenever a run starts. */
  readonly apiRoute?: boolean;
  /** What its tools may do without asking. */
  readonly tools?: EventData<'session.created'>['tools'] | null;
  /** Bounds of the files that its answers may bring along. */
  readonly deliverFiles?: EventData<'session.created'>['deliver_files'] | null;
  /** Random. See transcript/untrusted-text.ts. */
  readonly fenceSeed?: string | null;
  readonly source?: Exclude<TurnSource, 'process'>;
  readonly input: string;
  /** The input names them. */
  readonly images?: readonly EventImage[];
  /** The input names their paths. */
  readonly files?: readonly ReceivedFile[];
  readonly missing?: MissingPlaceholders | null;
}

/** The payload of a webhook lacks values that the templates of its route name. It changes nothing; it is there to be seen. */
export interface MissingPlaceholders {
  readonly placeholders: readonly string[];
  readonly onMissing: 'keep' | 'empty';
}

export interface RequestTurn {
  readonly type: 'request-turn';
  readonly source: Exclude<TurnSource, 'process'>;
  readonly input: string;
  /** The input names them. */
  readonly images?: readonly EventImage[];
  /** The input names their paths. */
  readonly files?: readonly ReceivedFile[];
  /** Each id is taken once. Null: every request is a new turn, unless the append's idempotency key says otherwise. */
  readonly deliveryId: string | null;
  /** The append carries an idempotency key, which alone decides whether it was taken before (see `isKnown`). */
  readonly keyed?: boolean;
  readonly startAfter?: number | null;
  readonly queueDeadline?: number | null;
  /** Route key `on_busy: interrupt`: cancels the current turn; the session goes on with this one. */
  readonly interrupt?: boolean;
  readonly missing?: MissingPlaceholders | null;
  /**
   * The sender could have answered the open question but wrote something else. Closes the question and cancels its turn,
   * so that this one need not wait for the deadline of the question. Has no effect if no question is open.
   */
  readonly supersede?: boolean;
  /** Tells the sender that the message was taken, if a turn is at work. Only for the first message that waits. */
  readonly queuedText?: string;
}

export interface CoalesceWebhook {
  readonly type: 'coalesce-webhook';
  readonly deliveryId: string;
  /** As in RequestTurn. */
  readonly keyed?: boolean;
  readonly input: string;
  readonly startAfter: number;
  /** Null: unchanged. */
  readonly queueDeadline?: number | null;
  readonly traceparent?: string | null;
  readonly missing?: MissingPlaceholders | null;
}

export function createSession(state: SessionState, command: CreateSession): Decision {
  if (state.created !== null) {
    return state.created.deliveryId === command.deliveryId
      ? alreadyDone
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
      ...(command.about ? { about: command.about } : {}),
      continues: command.continues ?? null,
      ...(command.conversationId ? { conversation_id: command.conversationId } : {}),
      ...(command.watcher ? { watcher: command.watcher } : {}),
      start_after: isoOrNull(command.startAfter),
      queue_deadline: isoOrNull(command.queueDeadline),
      max_concurrency: command.maxConcurrency ?? null,
      ...(command.apiRoute ? { api_route: true } : {}),
      ...(command.tools ? { tools: command.tools } : {}),
      ...(command.deliverFiles ? { deliver_files: command.deliverFiles } : {}),
      ...(command.fenceSeed ? { fence_seed: command.fenceSeed } : {}),
    }),
    turnRequested({
      turn: 1,
      source,
      input: command.input,
      delivery_id: command.deliveryId,
      history: (command.history ?? []).map(withoutAnnotations),
      ...broughtBy(command),
    }),
    ...placeholderMissing(1, command.deliveryId, command.missing),
  ];
  if (deliverOnly) {
    events.push(
      fact('session.final-response', {
        generation: null,
        turn: 1,
        text: command.input,
        outcome: 'succeeded',
        // This is not an agent's answer: `[SILENT]` in a payload is plain text. An empty text cannot be sent.
        silent: command.input.trim() === '',
      }),
      fact('session.ended', { outcome: 'succeeded', reason: `${source}_complete`, detail: null }),
    );
  }
  return accept(...events);
}

export function requestTurn(state: SessionState, command: RequestTurn): Decision {
  const { deliveryId } = command;
  if (deliveryId !== null && !command.keyed && isKnown(state, deliveryId)) return alreadyDone;
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  const requested = turnRequested({
    turn: state.lastTurn + 1,
    source: command.source,
    input: command.input,
    delivery_id: deliveryId,
    start_after: isoOrNull(command.startAfter),
    queue_deadline: isoOrNull(command.queueDeadline),
    ...broughtBy(command),
  });
  const { clarification } = state;
  const approval = openApproval(state);
  const head = state.turns[0];
  const givesWay = command.interrupt || (command.supersede && clarification !== null);
  const missing = placeholderMissing(state.lastTurn + 1, deliveryId, command.missing);
  if (!givesWay || head === undefined || head.startedAt === null) {
    return accept(requested, ...missing, ...queuedStatus(state, command));
  }
  return accept(
    // An open question or request always belongs to the current turn.
    ...(clarification === null
      ? []
      : [fact('clarification.superseded', { clarification_id: clarification.id })]),
    ...(approval === null
      ? []
      : [fact('approval.expired', { approval_id: approval.id, reason: 'superseded' })]),
    fact('run.cancelled', { generation: state.run?.generation ?? null, turn: head.turn, by: command.source }),
    requested,
    ...missing,
  );
}

/**
 * The status belongs to the turn that is at work: once that turn is answered, the status is obsolete, and delivery drops it.
 * One status is enough, however many messages wait.
 */
function queuedStatus(state: SessionState, { queuedText }: RequestTurn): readonly SessionFact[] {
  const [head, ...waiting] = state.turns;
  if (queuedText === undefined || head === undefined || waiting.length > 0) return [];
  if (head.startedAt === null || state.generation === 0) return [];
  const { generation } = state;
  return [
    fact('session.interim-status', {
      generation,
      turn: head.turn,
      sequence: (state.run?.statuses ?? 0) + 1,
      kind: 'queued',
      text: queuedText,
    }),
  ];
}

export function coalesceWebhook(state: SessionState, command: CoalesceWebhook): Decision {
  if (!command.keyed && isKnown(state, command.deliveryId)) return alreadyDone;
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  const turn = waitingWebhook(state);
  if (turn === undefined)
    return refuse('turn_started', 'the run has started: this webhook needs a turn of its own');
  return accept(
    fact('webhook.coalesced', {
      delivery_id: command.deliveryId,
      turn: turn.turn,
      input: command.input,
      start_after: iso(command.startAfter),
      queue_deadline: isoOrNull(command.queueDeadline),
      traceparent: command.traceparent ?? null,
    }),
    ...placeholderMissing(turn.turn, command.deliveryId, command.missing),
  );
}

/** The event names this many. The template has them all. */
const MOST_PLACEHOLDERS = 20;

function placeholderMissing(
  turn: number,
  deliveryId: string | null,
  missing: MissingPlaceholders | null | undefined,
): SessionFact[] {
  if (missing == null || deliveryId === null) return [];
  const placeholders = missing.placeholders.slice(0, MOST_PLACEHOLDERS);
  return [
    fact('webhook.placeholder-missing', {
      turn,
      delivery_id: deliveryId,
      placeholders,
      on_missing: missing.onMissing,
    }),
  ];
}

/** The turn whose webhook a newer one may replace: the last one that no run has started. */
export function waitingWebhook(state: SessionState): OpenTurn | undefined {
  return state.turns.findLast((open) => open.source === 'webhook' && open.startedAt === null);
}

/**
 * When a turn may start after another webhook arrived in its window: one whole window later, but no later than the maximum
 * wait of the first webhook, and never earlier than before.
 */
export function windowEnd(
  turn: Pick<OpenTurn, 'requestedAt' | 'startAfter'>,
  now: number,
  window: { readonly seconds: number; readonly maxWaitSeconds: number },
): number {
  const latest = turn.requestedAt + seconds(window.maxWaitSeconds);
  return Math.max(turn.startAfter ?? 0, Math.min(now + seconds(window.seconds), latest));
}

/** The images and files of a message. Each field of the event is absent if there are none. */
export function broughtBy({
  images = [],
  files = [],
}: {
  readonly images?: readonly EventImage[] | undefined;
  readonly files?: readonly ReceivedFile[] | undefined;
}): { images?: EventImage[]; files?: ReceivedFile[] } {
  return {
    ...(images.length === 0 ? {} : { images: [...images] }),
    ...(files.length === 0 ? {} : { files: [...files] }),
  };
}

/** Fills in the defaults of `turn.requested`, so that every written event is complete. */
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

/** A transcript row without our own annotations. */
function withoutAnnotations({
  role,
  content,
  tool_calls,
  tool_call_id,
}: TranscriptMessage): TranscriptMessage {
  return {
    role,
    content,
    ...(tool_calls ? { tool_calls } : {}),
    ...(tool_call_id ? { tool_call_id } : {}),
  };
}

/**
 * Checks the ids that the state remembers, for callers without an idempotency key. Not for webhooks: an id derived from
 * the content only says that two bodies are equal, and after a while the same alert is a new one.
 */
function isKnown(state: SessionState, deliveryId: string): boolean {
  return state.recentDeliveryIds.includes(deliveryId);
}

function isoOrNull(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : iso(time);
}

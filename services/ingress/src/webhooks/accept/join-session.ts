import type { Bus } from '@angelia/bus';
import { cancelSubject, type SessionFact, type SessionId } from '@angelia/contracts';
import {
  type CreateSession,
  continuation,
  type Decision,
  decide,
  initialState,
  markOf,
  markOfTurn,
  type SessionCommand,
  type SessionState,
  waitingWebhook,
  windowEnd,
} from '@angelia/session';
import {
  type KeyedPlan,
  type KeyedSessions,
  keyStream,
  type Loaded,
  linkActiveSpan,
  newSessionId,
} from '@angelia/sessions';
import { Refusal } from '../../http/refusal.ts';
import { deliveryKey } from '../admit/delivery-id.ts';
import { type Rendered, renderInput } from '../render/render.ts';
import type { Keying } from '../render/session-key.ts';
import { traceOf } from '../trace.ts';
import { type AcceptableWebhook, type Acceptance, creationOf, rateLimited } from './create-session.ts';

interface JoinContext {
  readonly keyedSessions: Pick<KeyedSessions, 'execute'>;
  readonly bus: Pick<Bus, 'ping'>;
  readonly actor?: string;
}

/**
 * For a route with `coalesce` or `session_key`: the webhook opens a session, or joins the current one of its key. The
 * idempotency key is in the same append, so a coalesced delivery is later recognised as a duplicate like any other.
 *
 * @throws Refusal 400, 409 for `on_busy: reject`, 429; LogUnavailable, LogOverloaded: nothing was taken
 */
export async function joinSession(
  { keyedSessions, bus, actor }: JoinContext,
  accepted: AcceptableWebhook,
  keying: Keying,
  key: string,
): Promise<Acceptance> {
  const { received, delivery, rendered, nowMs } = accepted;
  const { route } = received;
  const traceparent = traceOf(received);
  const webhook: KeyedWebhook = {
    keying,
    deliveryId: delivery.id,
    inputFor: (state, turn) =>
      renderInput(route, rendered.values, markOfTurn(state, turn) ?? markOf(rendered.fenceSeed ?? '', turn)),
    asSession: () => ({
      ...creationOf(accepted),
      sessionKey: keying.by === 'session' ? key : null,
    }),
    id: newSessionId(),
    nowMs,
    maxQueueSeconds: route.maxQueueSeconds,
    traceparent,
    missing: rendered.missing,
  };
  let continued: string | null = null;
  const executed = await keyedSessions.execute(
    keyStream(keying.by, route.name, key),
    (current) => {
      continued = current?.state.created?.traceparent ?? null;
      return planWebhook(current, webhook);
    },
    {
      key: { key: deliveryKey(route.name, delivery), keepSeconds: route.keepSeconds[delivery.from] },
      rateLimit: route.rateLimit,
      traceparent,
      ...(actor === undefined ? {} : { actor }),
    },
  );
  switch (executed.status) {
    case 'appended': {
      const { id } = executed.loaded;
      const types = new Set(executed.facts.map((fact) => fact.type));
      // The event in the log is what counts; the ping makes the runner stop at once.
      if (types.has('run.cancelled')) bus.ping(cancelSubject(id));
      const continues = executed.facts.some((fact) => fact.type === 'session.created' && fact.data.continues);
      if (continues || types.has('webhook.coalesced')) linkActiveSpan(continued);
      return { status: types.has('webhook.coalesced') ? 'coalesced' : 'accepted', sessionId: id };
    }
    case 'duplicate':
      return { status: 'duplicate', sessionId: executed.streamId };
    case 'limited':
      throw rateLimited(route, executed.retryAfterSeconds);
    case 'refused':
      throw new Refusal(
        409,
        'session_busy',
        `session ${executed.refusal.busy} is working under this key and the route has \`on_busy: reject\`: ` +
          'send it again when that session is done',
      );
  }
}

interface KeyedWebhook {
  readonly keying: Keying;
  readonly deliveryId: string;
  /** As a turn of an existing session, in the fences of that session. */
  readonly inputFor: (state: SessionState, turn: number) => string;
  /** As a new session. @throws Refusal 400 if the payload does not contain an address for its answers */
  readonly asSession: () => CreateSession;
  /** For the new session, if there is one. */
  readonly id: SessionId;
  readonly nowMs: number;
  readonly maxQueueSeconds: number | null;
  readonly traceparent: string | null;
  readonly missing: Rendered['missing'];
}

/**
 * What a webhook does under its key:
 *
 *   no session yet, or it was pruned              opens one
 *   a webhook still waits and may be replaced     replaces its input; the window ends later, up to its maximum
 *   coalesce only, and the run has started        opens one
 *   session_key, and the session has ended        opens its continuation
 *   session_key, unanswered turns, reject         is refused
 *   session_key                                   is a further turn; `interrupt` cancels the run in flight
 *
 * A session is busy if a turn has no answer yet, even if its run has not started. So the answer to a sender does not
 * depend on how fast a runner was.
 */
function planWebhook(current: Loaded | null, webhook: KeyedWebhook): KeyedPlan<{ readonly busy: SessionId }> {
  const { keying, deliveryId, inputFor } = webhook;
  if (current === null || current.state.created === null) return open(webhook);
  const { state } = current;
  if (state.ended !== null) {
    if (keying.by === 'coalesce') return open(webhook);
    const { continues = null, conversationId = null, watcher = null, history = [] } = continuation(current);
    return open(webhook, { continues, conversationId, watcher, history });
  }
  const waiting = waitingWebhook(state);
  if (waiting !== undefined && (keying.window !== null || keying.onBusy === 'coalesce')) {
    const startAfter =
      keying.window === null
        ? (waiting.startAfter ?? webhook.nowMs)
        : windowEnd(waiting, webhook.nowMs, keying.window);
    return add(current, {
      type: 'coalesce-webhook',
      keyed: true,
      deliveryId,
      input: inputFor(state, waiting.turn),
      startAfter,
      queueDeadline: queueDeadline(webhook, startAfter),
      traceparent: webhook.traceparent,
      missing: webhook.missing,
    });
  }
  if (keying.by === 'coalesce') return open(webhook);
  if (keying.onBusy === 'reject' && state.turns.length > 0) {
    return { to: 'none', refusal: { busy: current.id } };
  }
  const startAfter = windowStart(webhook);
  return add(current, {
    type: 'request-turn',
    keyed: true,
    source: 'webhook',
    deliveryId,
    input: inputFor(state, state.lastTurn + 1),
    startAfter,
    queueDeadline: queueDeadline(webhook, startAfter),
    interrupt: keying.onBusy === 'interrupt',
    missing: webhook.missing,
  });
}

function open(
  webhook: KeyedWebhook,
  from: Pick<CreateSession, 'continues' | 'conversationId' | 'watcher' | 'history'> = {},
): KeyedPlan<never> {
  const startAfter = windowStart(webhook);
  const fields = { startAfter, queueDeadline: queueDeadline(webhook, startAfter) };
  const facts = factsOf(decide(initialState(), { ...webhook.asSession(), ...fields, ...from }));
  return { to: 'new', id: webhook.id, facts };
}

function add(current: Loaded, command: SessionCommand): KeyedPlan<never> {
  return { to: 'current', facts: factsOf(decide(current.state, command)) };
}

function windowStart({ keying: { window }, nowMs }: KeyedWebhook): number | null {
  return window === null ? null : nowMs + Math.min(window.seconds, window.maxWaitSeconds) * 1000;
}

/** Time in the window does not count as time in the queue. */
function queueDeadline({ maxQueueSeconds, nowMs }: KeyedWebhook, startAfter: number | null): number | null {
  return maxQueueSeconds === null ? null : Math.max(startAfter ?? 0, nowMs) + maxQueueSeconds * 1000;
}

/** planWebhook asks only for what the state allows, so a refusal here is a bug. */
function factsOf(decision: Decision): readonly SessionFact[] {
  if (!decision.ok)
    throw new Error(`the session refused a keyed webhook (${decision.code}): ${decision.reason}`);
  return decision.events;
}

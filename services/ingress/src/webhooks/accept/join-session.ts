import type { SessionFact, SessionId } from '@angelia/contracts';
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
import type { Admission } from '../admit/admit.ts';
import { deliveryKey } from '../admit/delivery-id.ts';
import type { Received } from '../receive/receive.ts';
import type { Rendered } from '../render/render.ts';
import type { Keying } from '../render/session-key.ts';
import { traceOf } from '../trace.ts';
import { type Acceptance, newSession, rateLimited } from './create-session.ts';

export interface JoinDeps {
  readonly keyed: Pick<KeyedSessions, 'execute'>;
  /** Says "stop" to whoever runs this session; the event that says so is in the log already. */
  readonly interrupted: (id: SessionId) => void;
  /** A payload lacked a part of its route's key, and the webhook got a session of its own. */
  readonly keyless: (route: string) => void;
}

/**
 * Step 5 for a route with `coalesce` or `session_key`: the webhook becomes a session, or a part of the one that is
 * current under its key. Resolves after the commit, like `accept`; the idempotency key is in the same append, so that
 * a coalesced delivery is known as a duplicate afterwards like any other.
 *
 * @throws Refusal 400, 409 for `on_busy: reject`, 429; LogUnavailable, LogOverloaded: nothing was taken
 */
export async function join(
  deps: JoinDeps,
  received: Received,
  admitted: Extract<Admission, { kind: 'admitted' }>,
  rendered: Rendered,
  { keying, key }: { readonly keying: Keying; readonly key: string },
): Promise<Acceptance> {
  const { route, nowMs } = received;
  const { delivery } = admitted;
  const traceparent = traceOf(received);
  const webhook: KeyedWebhook = {
    keying,
    deliveryId: delivery.id,
    inputFor: (state, turn) =>
      rendered.inputWith(markOfTurn(state, turn) ?? markOf(rendered.fenceSeed ?? '', turn)),
    asSession: () => ({
      ...newSession(received, admitted, rendered),
      sessionKey: keying.by === 'session' ? key : null,
    }),
    id: newSessionId(),
    nowMs,
    maxQueueSeconds: route.maxQueueSeconds,
    traceparent,
  };
  let continued: string | null = null;
  const executed = await deps.keyed.execute(
    keyStream(keying.by, route.name, key),
    (current) => {
      continued = current?.state.created?.traceparent ?? null;
      return planWebhook(current, webhook);
    },
    {
      key: { key: deliveryKey(route.name, delivery), keepSeconds: route.keepSeconds[delivery.from] },
      rateLimit: route.rateLimit,
      traceparent,
    },
  );
  switch (executed.status) {
    case 'appended': {
      const { id } = executed.loaded;
      const types = new Set(executed.facts.map((fact) => fact.type));
      if (types.has('run.cancelled')) deps.interrupted(id);
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
        `session ${executed.refusal.busy} is at work under this key and the route has \`on_busy: reject\`: ` +
          'send it again when it is done',
      );
  }
}

export interface KeyedWebhook {
  readonly keying: Keying;
  readonly deliveryId: string;
  /** As a turn of a session that is there, in the fences of that session. */
  readonly inputFor: (state: SessionState, turn: number) => string;
  /** As a session of its own. Throws Refusal where the payload does not make an address for its answers. */
  readonly asSession: () => CreateSession;
  /** For the session, if it becomes one. */
  readonly id: SessionId;
  readonly nowMs: number;
  readonly maxQueueSeconds: number | null;
  readonly traceparent: string | null;
}

/**
 * What a webhook does under its key:
 *
 *   no session yet, or it was pruned             opens one
 *   its webhook waits, and may be replaced       replaces its input; the window ends later, up to its maximum
 *   coalesce only, and the run has started       opens one
 *   session_key, and the session has ended       opens its continuation
 *   session_key, unanswered turns, reject        is refused
 *   session_key                                  is a further turn; `interrupt` cancels the one under way
 *
 * Busy is a session with a turn that has no answer yet, whether its run has begun or is about to: what a sender gets
 * does not depend on how fast a runner was.
 */
export function planWebhook(
  current: Loaded | null,
  webhook: KeyedWebhook,
): KeyedPlan<{ readonly busy: SessionId }> {
  const { keying, deliveryId, inputFor } = webhook;
  if (current === null || current.state.created === null) return open(webhook);
  const { state } = current;
  if (state.ended !== null) {
    if (keying.by === 'coalesce') return open(webhook);
    const { continues, history } = continuation(current);
    return open(webhook, { continues: continues ?? null, history: history ?? [] });
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
  });
}

function open(
  webhook: KeyedWebhook,
  from: Pick<CreateSession, 'continues' | 'history'> = {},
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

/** Time in the window is no time in the queue. */
function queueDeadline({ maxQueueSeconds, nowMs }: KeyedWebhook, startAfter: number | null): number | null {
  return maxQueueSeconds === null ? null : Math.max(startAfter ?? 0, nowMs) + maxQueueSeconds * 1000;
}

/** The plan asks only for what the state allows. */
function factsOf(decision: Decision): readonly SessionFact[] {
  if (!decision.ok)
    throw new Error(`a webhook under a key was refused (${decision.code}): ${decision.reason}`);
  return decision.events;
}

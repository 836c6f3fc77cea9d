import { type CreateSession, decide } from '@angelia/session';
import { newSessionId, type Sessions } from '@angelia/sessions';
import { Refusal } from '../../http/refusal.ts';
import { type DeliveryId, deliveryKey } from '../admit/delivery-id.ts';
import type { Received } from '../receive/receive.ts';
import type { Rendered } from '../render/render.ts';
import type { Route } from '../route.ts';
import { traceOf } from '../trace.ts';

/** A webhook that passed every step before `accept`. */
export interface AcceptableWebhook {
  readonly received: Received;
  readonly event: string | null;
  /** Under the id that it first came with. */
  readonly delivery: DeliveryId;
  readonly rendered: Rendered;
  /** The database's time if the route has a deadline, else this host's. */
  readonly nowMs: number;
}

export interface Acceptance {
  readonly status: 'accepted' | 'duplicate' | 'coalesced';
  readonly sessionId: string;
}

/**
 * One round trip, with no read before it: the stream is new, and the key in the same append recognises a delivery that
 * was taken before, here or on another replica (invariant one-delivery-one-session).
 *
 * @throws Refusal 400 (no address for the answer), 429; LogUnavailable, LogOverloaded
 */
export async function createSession(
  sessions: Sessions,
  webhook: AcceptableWebhook,
  actor?: string,
): Promise<Acceptance> {
  const { received, delivery } = webhook;
  const { route } = received;
  const id = newSessionId();
  const executed = await sessions.execute(id, ({ state }) => decide(state, creationOf(webhook)), {
    loaded: sessions.fresh(id),
    key: { key: deliveryKey(route.name, delivery), keepSeconds: route.keepSeconds[delivery.from] },
    rateLimit: route.rateLimit,
    traceparent: traceOf(received),
    ...(actor === undefined ? {} : { actor }),
  });
  switch (executed.status) {
    case 'appended':
      return { status: 'accepted', sessionId: id };
    case 'duplicate':
      return { status: 'duplicate', sessionId: executed.streamId };
    case 'limited':
      throw rateLimited(route, executed.retryAfterSeconds);
    default:
      // Nobody else can know a new stream, so nothing else is possible. If it happens, the log of ingress must show it.
      throw new Error(`a new session was answered with ${executed.status}`);
  }
}

/**
 * Captures everything of the route that the session needs (invariant config-is-a-fact), with the webhook as first turn.
 * @throws Refusal 400 if the payload does not contain an address for the answer
 */
export function creationOf({ received, event, delivery, rendered, nowMs }: AcceptableWebhook): CreateSession {
  const { route } = received;
  return {
    type: 'create-session',
    route: route.name,
    event,
    deliveryId: delivery.id,
    title: rendered.title,
    agent: route.agent,
    toolsets: route.toolsets,
    tools: route.tools,
    skills: route.skills,
    deliverOnly: route.deliverOnly,
    deliver: route.deliver(rendered.values),
    fallbackTarget: route.fallbackTarget === null ? null : route.fallbackTarget(rendered.values),
    interim: route.interim,
    queueDeadline: route.maxQueueSeconds === null ? null : nowMs + route.maxQueueSeconds * 1000,
    maxConcurrency: route.maxConcurrency,
    apiRoute: route.madeByApi,
    fenceSeed: rendered.fenceSeed,
    input: rendered.input,
    missing: rendered.missing,
  };
}

export function rateLimited(route: Route, retryAfterSeconds: number): Refusal {
  return new Refusal(
    429,
    'rate_limited',
    `this route takes at most ${route.rateLimit?.perMinute} webhooks per minute: send it again later`,
    Math.ceil(retryAfterSeconds),
  );
}

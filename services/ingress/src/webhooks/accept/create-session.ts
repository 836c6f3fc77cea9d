import { type CreateSession, decide } from '@angelia/session';
import { newSessionId, type Sessions } from '@angelia/sessions';
import { Refusal } from '../../http/refusal.ts';
import type { Admission } from '../admit/admit.ts';
import { deliveryKey } from '../admit/delivery-id.ts';
import type { Route } from '../compile-route.ts';
import type { Received } from '../receive/receive.ts';
import type { Rendered } from '../render/render.ts';
import { traceOf } from '../trace.ts';

export interface Acceptance {
  readonly status: 'accepted' | 'duplicate' | 'coalesced';
  readonly sessionId: string;
}

/**
 * Step 5: the webhook becomes a session. Resolves after the commit (invariant accepted-is-durable). One round trip
 * and no read before it: the stream is new, and the key in the same append recognises a delivery that was taken
 * before, here or on another replica (invariant one-delivery-one-session).
 *
 * @throws Refusal 400 (no address for the answer), 429; LogUnavailable, LogOverloaded: nothing was taken, the sender should come again
 */
export async function accept(
  sessions: Sessions,
  received: Received,
  admitted: Extract<Admission, { kind: 'admitted' }>,
  rendered: Rendered,
): Promise<Acceptance> {
  const { route } = received;
  const { delivery } = admitted;
  const id = newSessionId();
  const executed = await sessions.execute(
    id,
    ({ state }) => decide(state, newSession(received, admitted, rendered)),
    {
      loaded: sessions.fresh(id),
      key: { key: deliveryKey(route.name, delivery), keepSeconds: route.keepSeconds[delivery.from] },
      rateLimit: route.rateLimit,
      traceparent: traceOf(received),
    },
  );
  switch (executed.status) {
    case 'appended':
      return { status: 'accepted', sessionId: id };
    case 'duplicate':
      return { status: 'duplicate', sessionId: executed.streamId };
    case 'limited':
      throw rateLimited(route, executed.retryAfterSeconds);
    default:
      // A stream that was just named can be neither taken nor refused; if it is, somebody must hear of it.
      throw new Error(`a new session was answered with ${executed.status}`);
  }
}

/** All that is captured of the route (invariant config-is-a-fact), with the webhook as the first turn. */
export function newSession(
  { route, nowMs }: Received,
  { event, delivery }: Extract<Admission, { kind: 'admitted' }>,
  rendered: Rendered,
): CreateSession {
  return {
    type: 'create-session',
    route: route.name,
    event,
    deliveryId: delivery.id,
    title: rendered.title,
    agent: route.agent,
    toolsets: route.toolsets,
    skills: route.skills,
    deliverOnly: route.deliverOnly,
    deliver: rendered.deliver,
    fallbackTarget: rendered.fallbackTarget,
    interim: route.interim,
    queueDeadline: route.maxQueueSeconds === null ? null : nowMs + route.maxQueueSeconds * 1000,
    maxConcurrency: route.maxConcurrency,
    apiRoute: route.madeByApi,
    fenceSeed: rendered.fenceSeed,
    input: rendered.input,
  };
}

export function rateLimited(route: Route, retryAfterSeconds: number): Refusal {
  return new Refusal(
    429,
    'rate_limited',
    `more than ${route.rateLimit?.perMinute} webhooks per minute on this route: send it again later`,
    Math.ceil(retryAfterSeconds),
  );
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from '@angelia/service-kit';
import { newFenceSeed, type Sessions } from '@angelia/sessions';
import { ACCEPT_PATIENCE_MS, withPatience } from './accept/commit-timeout.ts';
import { accept } from './accept/create-session.ts';
import { type JoinDeps, join } from './accept/join-session.ts';
import { Committing } from './accept/uncommitted-bodies.ts';
import { admit } from './admit/admit.ts';
import { firstSentAs } from './admit/delivery-id.ts';
import { authenticate } from './authenticate/authenticate.ts';
import type { Scheme } from './authenticate/scheme.ts';
import type { RouteTable } from './compile-route.ts';
import { passes } from './filter.ts';
import { type Received, receive } from './receive/receive.ts';
import { render } from './render/render.ts';
import { inOwnSpan } from './trace.ts';
import { transform } from './transform/transform.ts';

/** Of this process: memory is what it bounds. */
const committing = new Committing();

export interface WebhookRequest {
  readonly routeName: string;
  readonly headers: IncomingHttpHeaders;
  /** A Buffer, or nothing when the request had no body. */
  readonly body: unknown;
  /** Path and query as they came. */
  readonly url: string;
}

export interface WebhookAnswer {
  readonly status: 200 | 202;
  readonly body: Readonly<Record<string, string | null>>;
  /** Of an ignored one, for the record of webhooks that started nothing. */
  readonly event?: string | null;
  /** For the same record, where it knows more than the sender is told. */
  readonly why?: string;
}

/** The way of a webhook: receive, authenticate, admit, filter, transform, render, accept. What is refused on the way throws a Refusal. */
export async function takeWebhook(
  routes: RouteTable,
  sessions: Sessions,
  request: WebhookRequest,
  /** Called for every request that was authenticated in a way that its operator should know of. */
  onWeakScheme: (route: string, weakness: string) => void,
  logger: Pick<Logger, 'warn'>,
  joinDeps: JoinDeps,
): Promise<WebhookAnswer> {
  const received = receive(routes, request, Date.now());
  const scheme = authenticate(received);
  if (scheme?.weakness !== undefined) onWeakScheme(received.route.name, scheme.weakness);
  return inOwnSpan(received, () => takeAuthentic(sessions, received, scheme, logger, joinDeps));
}

async function takeAuthentic(
  sessions: Sessions,
  received: Received,
  scheme: Scheme | null,
  logger: Pick<Logger, 'warn'>,
  joinDeps: JoinDeps,
): Promise<WebhookAnswer> {
  const admitted = admit(received, scheme);
  const route = received.route.name;
  if (admitted.kind === 'handshake') return { status: 200, body: admitted.answer };
  if (admitted.kind === 'ignored') {
    return {
      status: 200,
      body: { status: 'ignored', reason: admitted.reason, route },
      event: admitted.event,
    };
  }
  const { filter, script } = received.route;
  if (filter !== null && !passes(filter, { ...admitted, headers: received.headers }, logger)) {
    return { status: 200, body: { status: 'ignored', reason: 'filter', route }, event: admitted.event };
  }
  let { payload } = admitted;
  if (script !== null) {
    const { event, delivery } = admitted;
    const outcome = await transform(script, { route, payload, event, deliveryId: delivery.id }, logger);
    if (outcome.kind === 'ignored') {
      return {
        status: 200,
        body: { status: 'ignored', reason: outcome.reason, route },
        event,
        why: outcome.why,
      };
    }
    payload = outcome.payload;
  }
  const rendered = render(received.route, { payload, event: admitted.event }, newFenceSeed());
  const { keying } = received.route;
  const { key } = rendered;
  const accepted = await withPatience(
    ACCEPT_PATIENCE_MS,
    committing.hold(received.body.length, async () => {
      // The signature was judged by this host's clock, as its sender's time is; deadlines are the database's.
      const hasDeadline = keying !== null || received.route.maxQueueSeconds !== null;
      const timed: Received = hasDeadline ? { ...received, nowMs: await sessions.now() } : received;
      const once = { ...admitted, delivery: await firstSentAs(sessions, route, admitted.delivery) };
      return keying === null || key === null
        ? accept(sessions, timed, once, rendered)
        : join(joinDeps, timed, once, rendered, { keying, key });
    }),
  );
  if (keying !== null && key === null) joinDeps.keyless(route);
  const ids = { delivery_id: admitted.delivery.id, session_id: accepted.sessionId };
  return accepted.status === 'duplicate'
    ? { status: 200, body: { status: 'duplicate', ...ids } }
    : { status: 202, body: { status: accepted.status, route, event: admitted.event, ...ids } };
}

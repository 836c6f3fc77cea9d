import type { IncomingHttpHeaders } from 'node:http';
import type { Sessions } from '@angelia/service-kit';
import { accept } from './accept.ts';
import { admit } from './admit.ts';
import { authenticate } from './authenticate.ts';
import { ACCEPT_PATIENCE_MS, withPatience } from './patience.ts';
import { receive } from './receive.ts';
import { render } from './render.ts';
import type { RouteTable } from './route-table.ts';

export interface WebhookRequest {
  readonly routeName: string;
  readonly headers: IncomingHttpHeaders;
  /** A Buffer, or nothing when the request had no body. */
  readonly body: unknown;
}

export interface WebhookAnswer {
  readonly status: 200 | 202;
  readonly body: Readonly<Record<string, string | null>>;
}

/** The way of a webhook: receive, authenticate, admit, render, accept. What is refused on the way throws a Refusal. */
export async function takeWebhook(
  routes: RouteTable,
  sessions: Sessions,
  request: WebhookRequest,
): Promise<WebhookAnswer> {
  const received = receive(routes, request, Date.now());
  authenticate(received);
  const admitted = admit(received);
  const route = received.route.name;
  if (admitted.kind === 'ignored') {
    return { status: 200, body: { status: 'ignored', reason: admitted.reason, route } };
  }
  const rendered = render(received.route, admitted);
  const accepted = await withPatience(ACCEPT_PATIENCE_MS, accept(sessions, received, admitted, rendered));
  const ids = { delivery_id: admitted.delivery.id, session_id: accepted.sessionId };
  return accepted.status === 'duplicate'
    ? { status: 200, body: { status: 'duplicate', ...ids } }
    : { status: 202, body: { status: 'accepted', route, event: admitted.event, ...ids } };
}

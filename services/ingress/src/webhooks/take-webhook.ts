import { type Logger, metrics } from '@angelia/service-kit';
import { newFenceSeed } from '@angelia/sessions';
import type { Refusal } from '../http/refusal.ts';
import { type AcceptContext, accept } from './accept/accept.ts';
import { admit } from './admit/admit.ts';
import { authenticate } from './authenticate/authenticate.ts';
import type { Scheme } from './authenticate/scheme.ts';
import { filterRefusal } from './filter/filter.ts';
import { headerReader } from './payload/header-reader.ts';
import { type Received, receive, type WebhookRequest } from './receive/receive.ts';
import { render } from './render/render.ts';
import type { Route, RouteTable } from './route.ts';
import { batchedEvents, takeBatch } from './take-batch.ts';
import { inServerSpan } from './trace.ts';
import { transform } from './transform/transform.ts';

/** What the steps need besides the request. Made once. */
export interface WebhookContext extends AcceptContext {
  readonly routes: RouteTable;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface WebhookAnswer {
  /** 202: it started a session, or joined one. */
  readonly status: 200 | 202 | 204;
  readonly body: Readonly<Record<string, string | number | null>>;
  /** The event of an ignored webhook, for the record of webhooks that started no session. */
  readonly event?: string | null;
  /** A more exact reason for the same record, which the sender is not told. */
  readonly why?: string;
  /** The same as a sentence. */
  readonly detail?: string;
}

/** What the sender is told, and each webhook that it stands for: several if the request is a batch. */
export interface TakenRequest {
  readonly status: WebhookAnswer['status'];
  readonly body: object;
  readonly answers: readonly WebhookAnswer[];
  /** Events of a batch that were refused for good. */
  readonly refusals: readonly Refusal[];
}

/**
 * A webhook goes through these steps: receive, authenticate, admit, filter, transform, render, accept.
 * @throws Refusal from the step that refuses it
 */
export async function takeWebhook(context: WebhookContext, request: WebhookRequest): Promise<TakenRequest> {
  const received = receive(context.routes, request, Date.now());
  const scheme = authenticate(received);
  const { route } = received;
  if (scheme?.weakness !== undefined) context.warnings.weakScheme(route.name, scheme.weakness);

  const events = batchedEvents(received);
  if (events === null) {
    const answer = await takeOne(context, received, scheme);
    return { status: answer.status, body: answer.body, answers: [answer], refusals: [] };
  }
  const { answers, refusals, items } = await takeBatch(events, (event) => takeOne(context, event, scheme));
  const status = answers.some((answer) => answer.status === 202) ? 202 : 200;
  return { status, body: { status: 'batch', route: route.name, items }, answers, refusals };
}

/**
 * A webhook that somebody sends by the API to try a route. Only its signature is not checked. Whoever sends it is the actor
 * of what it starts, so that nobody takes it for a webhook of the sender.
 * @throws Refusal from the step that refuses it
 */
export function takeTestWebhook(
  context: WebhookContext,
  request: WebhookRequest,
  sentBy: string,
): Promise<WebhookAnswer> {
  const received = receive(context.routes, request, Date.now());
  return takeOne({ ...context, actor: `test:${sentBy}` }, received, null);
}

function takeOne(context: WebhookContext, received: Received, scheme: Scheme | null): Promise<WebhookAnswer> {
  const { route } = received;
  return inServerSpan(received, async () => {
    const admitted = admit(received, scheme);
    if (admitted.kind === 'handshake') return admitted.handshake;
    const { event } = admitted;
    if (admitted.kind === 'ignored') return ignored(route, 'event', event, unwantedEvent(route, event));

    const refusal = filterRefusal(received, admitted, context.logger);
    if (refusal !== null) return ignored(route, 'filter', event, refusal);

    let { payload } = admitted;
    if (route.script !== null) {
      const input = { route: route.name, payload, event, deliveryId: admitted.delivery.id };
      const transformed = await transform(route.script, input, context.logger);
      if (transformed.kind === 'ignored')
        return ignored(route, 'script', event, transformed.detail, transformed.why);
      payload = transformed.payload;
    }

    const header = headerReader(received.headers, scheme?.tokenHeader);
    const rendered = render(route, { payload, event, header }, newFenceSeed());
    const accepted = await accept(context, received, admitted, rendered);
    if (rendered.missing !== null && accepted.status !== 'duplicate') {
      metrics.placeholdersMissing.add({ route: route.name, on_missing: rendered.missing.onMissing });
    }

    const ids = { delivery_id: admitted.delivery.id, session_id: accepted.sessionId };
    return accepted.status === 'duplicate'
      ? { status: 200, body: { status: 'duplicate', ...ids } }
      : { status: 202, body: { status: accepted.status, route: route.name, event, ...ids } };
  });
}

function ignored(
  route: Route,
  reason: 'event' | 'filter' | 'script',
  event: string | null,
  detail: string,
  why: string = reason,
): WebhookAnswer {
  return { status: 200, body: { status: 'ignored', reason, route: route.name }, event, why, detail };
}

/** Of a long list: the config has them all. */
const MOST_EVENTS = 8;

export function unwantedEvent({ events }: Route, event: string | null): string {
  const wanted = [...events].slice(0, MOST_EVENTS).join(', ');
  const more = events.size > MOST_EVENTS ? `, and ${events.size - MOST_EVENTS} more` : '';
  const was = event === null ? 'the webhook names no event' : `the event was ${JSON.stringify(event)}`;
  return `${was}; \`events\` of the route wants ${wanted}${more}`;
}

import { type Logger, metrics } from '@angelia/service-kit';
import { newFenceSeed } from '@angelia/sessions';
import { type AcceptContext, accept } from './accept/accept.ts';
import { admit } from './admit/admit.ts';
import { authenticate } from './authenticate/authenticate.ts';
import { filterRefusal } from './filter/filter.ts';
import { receive, type WebhookRequest } from './receive/receive.ts';
import { render } from './render/render.ts';
import type { Route, RouteTable } from './route.ts';
import { inServerSpan } from './trace.ts';
import { transform } from './transform/transform.ts';

/** What the steps need besides the request. Made once. */
export interface WebhookContext extends AcceptContext {
  readonly routes: RouteTable;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface WebhookAnswer {
  readonly status: 200 | 202;
  readonly body: Readonly<Record<string, string | null>>;
  /** The event of an ignored webhook, for the record of webhooks that started no session. */
  readonly event?: string | null;
  /** A more exact reason for the same record, which the sender is not told. */
  readonly why?: string;
  /** The same as a sentence. */
  readonly detail?: string;
}

/**
 * A webhook goes through these steps: receive, authenticate, admit, filter, transform, render, accept.
 * @throws Refusal from the step that refuses it
 */
export async function takeWebhook(context: WebhookContext, request: WebhookRequest): Promise<WebhookAnswer> {
  const received = receive(context.routes, request, Date.now());
  const scheme = authenticate(received);
  const { route } = received;
  if (scheme?.weakness !== undefined) context.warnings.weakScheme(route.name, scheme.weakness);

  return inServerSpan(received, async () => {
    const admitted = admit(received, scheme);
    if (admitted.kind === 'handshake') return { status: 200, body: admitted.answer };
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

    const rendered = render(route, { payload, event }, newFenceSeed());
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

function unwantedEvent({ events }: Route, event: string | null): string {
  const wanted = [...events].slice(0, MOST_EVENTS).join(', ');
  const more = events.size > MOST_EVENTS ? `, and ${events.size - MOST_EVENTS} more` : '';
  const was = event === null ? 'the webhook names no event' : `the event was ${JSON.stringify(event)}`;
  return `${was}; \`events\` of the route wants ${wanted}${more}`;
}

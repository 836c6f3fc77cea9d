import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { storable } from '@angelia/event-log';
import { lookUp, type Template, type TemplateValues } from './template.ts';

/** What a provider calls a delivery; all of these stay the same when it sends once more. */
const PROVIDER_HEADERS = [
  'x-github-delivery',
  'svix-id',
  'webhook-id',
  'idempotency-key',
  'linear-delivery',
  'x-shopify-webhook-id',
  'i-twilio-idempotency-token',
] as const;

/** A longer id is stored as its hash: the key is indexed, and nobody reads that much of it. */
const LONGEST_ID = 200;

export interface DeliveryId {
  readonly id: string;
  /** Where the id alone does not name the delivery: what does. */
  readonly key?: string;
  /** `sender`: the id names this delivery for good. `content`: it only says that two bodies are equal. */
  readonly from: 'sender' | 'content';
}

/**
 * What makes a repeat of this delivery the same delivery (invariant one-delivery-one-session). In this order:
 *
 * 1. the provider's id, in a header or (Stripe, Slack) in the body;
 * 2. the route's `delivery_id`, unless a value of it is missing: with a hole in it, it would be the same text for every
 *    request, and swallow all but the first;
 * 3. `X-Request-ID`. It comes after the template because many a proxy adds a new one to every attempt: an operator who
 *    wrote a template knows better;
 * 4. the body itself, for `dedupe_window_seconds`.
 */
export function deliveryIdOf(
  headers: IncomingHttpHeaders,
  body: Buffer,
  template: Template | null,
  values: TemplateValues,
): DeliveryId {
  for (const name of PROVIDER_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return ofSender(value);
  }
  const gitlab = headers['x-gitlab-event-uuid'];
  if (typeof gitlab === 'string' && gitlab !== '') {
    // Of versions without Idempotency-Key. One request to GitLab may cause several events with the same UUID.
    return { ...ofSender(gitlab), key: `${bounded(gitlab)}:${hash('sha256', body)}` };
  }
  const inBody = idInBody(headers, values.payload);
  if (inBody !== null) return ofSender(storable(inBody));
  const rendered = template?.renderWhole(values) ?? null;
  if (rendered !== null && rendered !== '') return ofSender(storable(rendered));
  const requestId = headers['x-request-id'];
  if (typeof requestId === 'string' && requestId !== '') return ofSender(requestId);
  return { id: `sha256:${hash('sha256', body)}`, from: 'content' };
}

/** Stripe's `id` (`evt_...`) and Slack's `event_id` (`Ev...`), where the request says that it is theirs. */
function idInBody(headers: IncomingHttpHeaders, payload: unknown): string | null {
  const [key, form] =
    headers['stripe-signature'] !== undefined
      ? ['id', /^evt_\w/]
      : headers['x-slack-signature'] !== undefined
        ? ['event_id', /^Ev\w/]
        : [null, null];
  if (key === null) return null;
  const value = lookUp(payload, [key]);
  return typeof value === 'string' && form.test(value) ? value : null;
}

/** The idempotency key of the append. */
export function deliveryKey(route: string, { id, key }: DeliveryId): string {
  return `webhook:${route}:${key ?? id}`;
}

function ofSender(id: string): DeliveryId {
  return { id: bounded(id), from: 'sender' };
}

function bounded(id: string): string {
  return id.length <= LONGEST_ID ? id : `sha256:${hash('sha256', id)}`;
}

import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { storable } from '@angelia/event-log';
import type { Sessions } from '@angelia/sessions';
import { firstHeader } from '../authenticate/provider-names.ts';
import type { Scheme, SignedContent } from '../authenticate/scheme.ts';
import { lookUp, type Template, type TemplateValues } from '../payload/template.ts';

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
  /** What was signed, where the id was not: see firstSentAs. */
  readonly signed?: SignedOnce;
}

interface SignedOnce {
  readonly sha256: string;
  readonly keepSeconds: number;
}

/**
 * What makes a repeat of this delivery the same delivery (invariant one-delivery-one-session). In this order:
 *
 * 1. the id of the provider that signed it; where the scheme is one of many senders, or the provider sent none, that of
 *    any provider, in a header or (Stripe, Slack) in the body;
 * 2. the route's `delivery_id`, unless a value of it is missing: with a hole in it, it would be the same text for every
 *    request, and swallow all but the first;
 * 3. `X-Request-ID`. It comes after the template because many a proxy adds a new one to every attempt: an operator who
 *    wrote a template knows better;
 * 4. the body itself, for `dedupe_window_seconds`.
 *
 * Where the provider has its id in what it signs, no header but that counts: whoever captured a request could make a
 * new delivery of it with one. Where it has not, see `identified`.
 */
export function deliveryIdOf(
  headers: IncomingHttpHeaders,
  body: Buffer,
  template: Template | null,
  values: TemplateValues,
  /** By which the sender was authenticated. */
  scheme: Scheme | null = null,
): DeliveryId {
  const own = scheme?.own?.id({ headers, payload: values.payload }) ?? null;
  if (own !== null) return own.perBody === true ? ofSenderAndBody(own.text, body) : ofSender(own.text);
  const anyHeader = scheme?.own?.idIsSigned !== true;
  if (anyHeader) {
    const sent = idOfAnyProvider(headers, body, values.payload);
    if (sent !== null) return sent;
  }
  const rendered = template?.renderWhole(values) ?? null;
  if (rendered !== null && rendered !== '') return ofSender(storable(rendered));
  const requestId = anyHeader ? firstHeader(headers, ['x-request-id']) : null;
  if (requestId !== null) return ofSender(requestId);
  return { id: `sha256:${hash('sha256', body)}`, from: 'content' };
}

/**
 * The same where the id is not signed, but something that names the delivery is (`Scheme.signed`). What holds no time is
 * the key, whatever id is shown. What holds one differs in the sender's own repeat: then the id is the key, and of all
 * ids that come with the same signed content the first counts (`firstSentAs`).
 */
export function identified(delivery: DeliveryId, signed: SignedContent | undefined): DeliveryId {
  if (signed === undefined) return delivery;
  const { sha256, staleAfterSeconds } = signed;
  return staleAfterSeconds === null
    ? { ...delivery, key: `signed:${sha256}` }
    : { ...delivery, signed: { sha256, keepSeconds: staleAfterSeconds } };
}

/**
 * The delivery under the id that its signed content first came with. A commit of its own before that of the webhook:
 * should only the first come through, a repeat finds the id that it would have had anyway.
 */
export async function firstSentAs(
  sessions: Pick<Sessions, 'firstUnder'>,
  route: string,
  delivery: DeliveryId,
): Promise<DeliveryId> {
  if (delivery.signed === undefined) return delivery;
  const { sha256, keepSeconds } = delivery.signed;
  const prefix = deliveryKey(route, { ...delivery, key: '' });
  const first = await sessions.firstUnder(
    { key: `signed:${route}:${sha256}`, keepSeconds },
    deliveryKey(route, delivery),
  );
  return { ...delivery, key: first.slice(prefix.length) };
}

function idOfAnyProvider(headers: IncomingHttpHeaders, body: Buffer, payload: unknown): DeliveryId | null {
  const header = firstHeader(headers, PROVIDER_HEADERS);
  if (header !== null) return ofSender(header);
  // Of versions without Idempotency-Key.
  const gitlab = firstHeader(headers, ['x-gitlab-event-uuid']);
  if (gitlab !== null) return ofSenderAndBody(gitlab, body);
  const inBody = idInBody(headers, payload);
  return inBody === null ? null : ofSender(storable(inBody));
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

/** Of an id that several deliveries may have. */
function ofSenderAndBody(id: string, body: Buffer): DeliveryId {
  return { ...ofSender(id), key: `${bounded(id)}:${hash('sha256', body)}` };
}

function bounded(id: string): string {
  return id.length <= LONGEST_ID ? id : `sha256:${hash('sha256', id)}`;
}

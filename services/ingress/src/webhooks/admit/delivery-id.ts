import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { toStorable } from '@angelia/event-log';
import type { Sessions } from '@angelia/sessions';
import { firstHeader } from '../authenticate/provider-names.ts';
import type { Scheme, SignedContent } from '../authenticate/scheme.ts';
import { type CloudEventNames, cloudEventOf } from '../payload/cloud-event.ts';
import { lookUp } from '../payload/lookup.ts';
import type { Template, TemplateValues } from '../payload/template.ts';

/** How providers name a delivery. All of these stay the same when the provider sends it again. */
const PROVIDER_HEADERS = [
  'x-github-delivery',
  'svix-id',
  'webhook-id',
  'idempotency-key',
  'linear-delivery',
  'x-shopify-webhook-id',
  'i-twilio-idempotency-token',
] as const;

/** A longer id is stored as its hash: the key is indexed, and nobody reads an id that long. */
const LONGEST_ID = 200;

export interface DeliveryId {
  readonly id: string;
  /** The key that identifies the delivery, if the id alone does not. */
  readonly key?: string;
  /** `sender`: the id names this delivery for good. `content`: it only says that two bodies are equal. */
  readonly from: 'sender' | 'content';
  /** The signed content, if the id is not signed: see firstSentAs. */
  readonly signed?: SignedOnce;
}

interface SignedOnce {
  readonly sha256: string;
  readonly keepSeconds: number;
}

/**
 * The id by which a repeat of this delivery is recognised (invariant one-delivery-one-session). The first that exists:
 *
 * 1. the id of the provider that signed the request. If the scheme is generic, or the provider sent no id: the id of any
 *    provider, in a header or (Stripe, Slack) in the body. A CloudEvent comes before these: its source and its id;
 * 2. the route's `delivery_id`, unless one of its values is missing: with a hole it would be the same text for every
 *    request, and all but the first would be duplicates;
 * 3. `X-Request-ID`. It comes after the template because many proxies add a new one to every attempt. An operator who
 *    wrote a template knows better;
 * 4. the body itself, for `dedupe_window_seconds`.
 *
 * If the provider signs its id, no other header counts: somebody who captured a request could use one to make it a new
 * delivery. If it does not, see `withSignedContent`.
 */
export function deliveryIdOf(
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: Buffer },
  template: Template | null,
  values: TemplateValues,
  /** The one that authenticated the sender. */
  scheme: Scheme | null = null,
): DeliveryId {
  const own = scheme?.provider?.id({ headers, payload: values.payload }) ?? null;
  if (own !== null) return own.perBody === true ? ofSenderAndBody(own.text, body) : ofSender(own.text);
  const anyHeader = scheme?.provider?.idIsSigned !== true;
  if (anyHeader) {
    const cloudEvent = cloudEventOf(headers, values.payload);
    if (cloudEvent !== null) return ofCloudEvent(cloudEvent);
    const sent = idOfAnyProvider(headers, body, values.payload);
    if (sent !== null) return sent;
  }
  const rendered = template?.renderWhole(values) ?? null;
  if (rendered !== null && rendered !== '') return ofSender(toStorable(rendered));
  const requestId = anyHeader ? firstHeader(headers, ['x-request-id']) : null;
  if (requestId !== null) return ofSender(requestId);
  return { id: `sha256:${hash('sha256', body)}`, from: 'content' };
}

/**
 * For a delivery whose id is not signed, but whose content is (`Scheme.signed`). Signed content without a time is the
 * key, whatever the id says. Signed content with a time differs in the sender's own repeat: then the id is the key, and
 * of all ids that come with the same content the first counts (`firstSentAs`).
 */
export function withSignedContent(delivery: DeliveryId, signed: SignedContent | null): DeliveryId {
  if (signed === null) return delivery;
  const { sha256, staleAfterSeconds } = signed;
  return staleAfterSeconds === null
    ? { ...delivery, key: `signed:${sha256}` }
    : { ...delivery, signed: { sha256, keepSeconds: staleAfterSeconds } };
}

/**
 * The delivery under the id that its signed content first came with. This commits before the webhook does. If only this
 * commit succeeds, a repeat finds the id that it would have had anyway.
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
  // GitLab versions without Idempotency-Key.
  const gitlab = firstHeader(headers, ['x-gitlab-event-uuid']);
  if (gitlab !== null) return ofSenderAndBody(gitlab, body);
  const inBody = idInBody(headers, payload);
  return inBody === null ? null : ofSender(toStorable(inBody));
}

/** Stripe's `id` (`evt_...`) and Slack's `event_id` (`Ev...`), if the headers say that it is from them. */
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

/** For an id that several deliveries may share. */
function ofSenderAndBody(id: string, body: Buffer): DeliveryId {
  return { ...ofSender(id), key: `${bounded(id)}:${hash('sha256', body)}` };
}

/** Two sources may use the same id. A source is a URI reference and has no blank, so the two cannot be mixed up. */
function ofCloudEvent({ id, source }: CloudEventNames): DeliveryId {
  return { ...ofSender(id), key: bounded(`cloud-event:${source} ${id}`) };
}

function bounded(id: string): string {
  return id.length <= LONGEST_ID ? id : `sha256:${hash('sha256', id)}`;
}

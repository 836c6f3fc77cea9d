import type { IncomingHttpHeaders } from 'node:http';
import type { Handshake, Scheme } from '../authenticate/scheme.ts';
import { headerReader } from '../payload/header-reader.ts';
import { readPayload } from '../payload/read-payload.ts';
import type { Received } from '../receive/receive.ts';
import { type DeliveryId, deliveryIdOf, withSignedContent } from './delivery-id.ts';
import { eventTypeOf, isNamed } from './event-type.ts';

type Admission =
  | Admitted
  /** The route does not list this event. */
  | { readonly kind: 'ignored'; readonly reason: 'event'; readonly event: string | null }
  | { readonly kind: 'handshake'; readonly handshake: Handshake };

export interface Admitted {
  readonly kind: 'admitted';
  readonly payload: unknown;
  readonly event: string | null;
  readonly delivery: DeliveryId;
}

/**
 * Step 3: reads the payload, and checks whether the route wants the event.
 *
 * @param scheme the one that authenticated the sender; null for a route that needs none
 * @throws Refusal 415 if the content-type is neither JSON nor a form, 400 if the body does not match its content-type
 */
export function admit(received: Received, scheme: Scheme | null): Admission {
  const { route, headers, body } = received;
  const payload = readPayload(headers, body);
  const handshake = scheme?.handshake?.(payload) ?? slackHandshake(headers, payload);
  if (handshake !== null) return { kind: 'handshake', handshake };
  const event = eventTypeOf(headers, payload, scheme);
  if (route.events.size > 0 && !isNamed(route.events, event, payload)) {
    return { kind: 'ignored', reason: 'event', event };
  }
  return {
    kind: 'admitted',
    payload,
    event,
    delivery: withSignedContent(
      deliveryIdOf(
        received,
        route.deliveryId,
        { payload, event, header: headerReader(headers, scheme?.tokenHeader) },
        scheme,
      ),
      scheme?.signed?.(received) ?? null,
    ),
  };
}

/** Slack's challenges have 52 characters. The limit keeps a sender from choosing a long message that we send back. */
const LONGEST_CHALLENGE = 200;

/**
 * A provider asks whether its receiver is there when somebody creates a subscription. This is answered at once and
 * starts no session. Slack's Events API sends `{"type":"url_verification","challenge":...}`, signed like everything
 * else, so this comes after the signature is checked. (GitHub's `ping` is an ordinary event; list `events` to skip it.)
 */
function slackHandshake(headers: IncomingHttpHeaders, payload: unknown): Handshake | null {
  if (headers['x-slack-signature'] === undefined) return null;
  const { type, challenge } = (payload ?? {}) as { type?: unknown; challenge?: unknown };
  if (type !== 'url_verification' || typeof challenge !== 'string') return null;
  return challenge.length <= LONGEST_CHALLENGE ? { status: 200, body: { challenge } } : null;
}

import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../../http/refusal.ts';
import type { Scheme } from '../authenticate/scheme.ts';
import { FORM_TYPE, parseFormBody } from '../payload/form-body.ts';
import { isJsonType, mediaTypeOf, parseJsonBody } from '../payload/json-body.ts';
import type { Received } from '../receive/receive.ts';
import { type DeliveryId, deliveryIdOf, identified } from './delivery-id.ts';
import { eventTypeOf, isNamed } from './event-type.ts';
import { handshakeAnswer } from './handshake.ts';

export type Admission =
  | { readonly kind: 'ignored'; readonly reason: 'event'; readonly event: string | null }
  | { readonly kind: 'handshake'; readonly answer: Readonly<Record<string, string>> }
  | {
      readonly kind: 'admitted';
      readonly payload: unknown;
      readonly event: string | null;
      readonly delivery: DeliveryId;
    };

/**
 * Step 3: what is it, and does the route want it.
 *
 * @throws Refusal 415 for a body that is neither JSON nor a form by its type, 400 for one that is not by its content
 */
export function admit(
  received: Received,
  /** By which it was authenticated; null for a route that asks for none. */
  scheme: Scheme | null,
): Admission {
  const { route, headers, body } = received;
  const payload = payloadOf(headers, body);
  const handshake = handshakeAnswer(headers, payload);
  if (handshake !== null) return { kind: 'handshake', answer: handshake };
  const event = eventTypeOf(headers, payload, scheme);
  if (route.events.size > 0 && !isNamed(route.events, event, payload)) {
    return { kind: 'ignored', reason: 'event', event };
  }
  return {
    kind: 'admitted',
    payload,
    event,
    delivery: identified(
      deliveryIdOf(headers, body, route.deliveryId, { payload, event }, scheme),
      scheme?.signed?.(received),
    ),
  };
}

function payloadOf(headers: IncomingHttpHeaders, body: Buffer): unknown {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new Refusal(415, 'unsupported_encoding', 'compressed bodies are not supported: send it as it is');
  }
  const mediaType = mediaTypeOf(headers['content-type']);
  if (isJsonType(mediaType)) return parseJsonBody(body);
  if (mediaType === FORM_TYPE) return parseFormBody(body);
  const given = mediaType === '' ? 'no content-type' : 'this content-type';
  throw new Refusal(415, 'unsupported_type', `${given} is not supported: send content-type application/json`);
}

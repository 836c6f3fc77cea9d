import { type DeliveryId, deliveryIdOf } from './delivery-id.ts';
import { eventTypeOf } from './event-type.ts';
import { isJsonType, mediaTypeOf, parseJsonBody } from './json-body.ts';
import type { Received } from './receive.ts';
import { Refusal } from './refusal.ts';

export type Admission =
  | { readonly kind: 'ignored'; readonly reason: 'event' }
  | {
      readonly kind: 'admitted';
      readonly payload: unknown;
      readonly event: string | null;
      readonly delivery: DeliveryId;
    };

/**
 * Step 3: what is it, and does the route want it.
 *
 * @throws Refusal 415 for a body that is not JSON by its type, 400 for one that is not JSON by its content
 */
export function admit(received: Received): Admission {
  const { route, headers, body } = received;
  const mediaType = mediaTypeOf(headers['content-type']);
  if (!isJsonType(mediaType)) {
    const given = mediaType === '' ? 'no content-type' : 'this content-type';
    throw new Refusal(
      415,
      'unsupported_type',
      `${given} is not supported: send content-type application/json`,
    );
  }
  const payload = parseJsonBody(body);
  const event = eventTypeOf(headers, payload);
  if (route.events.size > 0 && (event === null || !route.events.has(event))) {
    return { kind: 'ignored', reason: 'event' };
  }
  return {
    kind: 'admitted',
    payload,
    event,
    delivery: deliveryIdOf(headers, body, route.deliveryId, { payload, event }),
  };
}

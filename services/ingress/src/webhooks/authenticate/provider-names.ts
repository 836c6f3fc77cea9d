import type { IncomingHttpHeaders } from 'node:http';
import { nameAt, propertyOf } from '../payload/lookup.ts';

/**
 * The names that a provider gives to a delivery and to its event. Somebody who captured a request can send it again with
 * more headers beside the signed ones. If one of those were read first, the repeat would be a new delivery or another
 * event. So headers of other providers count only where the provider's own name is absent, and not even then if the
 * provider signs that name.
 */
export interface ProviderNames {
  /** null: this request has none. */
  readonly id: (request: NamedRequest) => ProviderId | null;
  /** The provider signs the id: no other header replaces it. */
  readonly idIsSigned?: true;
  readonly event?: (request: NamedRequest) => string | null;
  /** The provider signs the event: no other header replaces it. */
  readonly eventIsSigned?: true;
}

export interface ProviderId {
  readonly text: string;
  /** Several deliveries may have this id. Two with the same body are the same delivery. */
  readonly perBody?: true;
}

export interface NamedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly payload: unknown;
}

export const idInHeaders =
  (...names: readonly string[]) =>
  ({ headers }: NamedRequest): ProviderId | null => {
    const text = firstHeader(headers, names);
    return text === null ? null : { text };
  };

export const eventInHeader =
  (name: string) =>
  ({ headers }: NamedRequest): string | null =>
    firstHeader(headers, [name]);

/** Stripe, Standard Webhooks, Slack and many others use `type`. */
const EVENT_KEYS = ['event_type', 'event', 'type'] as const;

export function eventInBody(payload: unknown): string | null {
  for (const key of EVENT_KEYS) {
    const value = nameAt(payload, key);
    // Slack's Events API says `event_callback` for everything; the type of the event is inside.
    if (value !== null)
      return value === 'event_callback' ? (nameAt(propertyOf(payload, 'event'), 'type') ?? value) : value;
  }
  return null;
}

/** The first of these headers that is not empty. */
export function firstHeader(headers: IncomingHttpHeaders, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

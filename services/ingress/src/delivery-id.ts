import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { storable } from '@angelia/event-log';
import type { Template, TemplateValues } from './template.ts';

/** In this order: what the provider calls the delivery, then what a sender or a proxy calls the request. */
const HEADERS = ['x-github-delivery', 'svix-id', 'webhook-id', 'idempotency-key', 'x-request-id'] as const;

/** A longer id is stored as its hash: the key is indexed, and nobody reads that much of it. */
const LONGEST_ID = 200;

export interface DeliveryId {
  readonly id: string;
  /** `sender`: the id names this delivery for good. `content`: it only says that two bodies are equal. */
  readonly from: 'sender' | 'content';
}

/**
 * What makes a repeat of this delivery the same delivery (invariant one-delivery-one-session). A `delivery_id`
 * template with a hole in it is not used: it would be the same text for every request, and swallow all but the first.
 */
export function deliveryIdOf(
  headers: IncomingHttpHeaders,
  body: Buffer,
  template: Template | null,
  values: TemplateValues,
): DeliveryId {
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return { id: bounded(value), from: 'sender' };
  }
  const rendered = template?.renderWhole(values) ?? null;
  if (rendered !== null && rendered !== '') return { id: bounded(storable(rendered)), from: 'sender' };
  return { id: `sha256:${hash('sha256', body)}`, from: 'content' };
}

/** The idempotency key of the append. */
export function deliveryKey(route: string, id: DeliveryId): string {
  return `webhook:${route}:${id.id}`;
}

function bounded(id: string): string {
  return id.length <= LONGEST_ID ? id : `sha256:${hash('sha256', id)}`;
}

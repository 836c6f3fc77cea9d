import type { IncomingHttpHeaders } from 'node:http';

const HEADERS = ['x-github-event', 'x-gitlab-event', 'x-event-type'] as const;
const BODY_KEYS = ['event_type', 'event', 'type'] as const;

/** A longer text in a body's `type` or `event` is no type name. */
const LONGEST_NAME = 200;

/** What happened, by the provider's header or else by the body; null when neither says. */
export function eventTypeOf(headers: IncomingHttpHeaders, payload: unknown): string | null {
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  if (typeof payload !== 'object' || payload === null) return null;
  for (const key of BODY_KEYS) {
    if (!Object.hasOwn(payload, key)) continue;
    const value = (payload as Record<string, unknown>)[key];
    if (typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME) return value;
  }
  return null;
}

import type { IncomingHttpHeaders } from 'node:http';
import { storable } from '@angelia/event-log';
import { firstHeader } from '../authenticate/provider-names.ts';
import type { Scheme } from '../authenticate/scheme.ts';

/** GitHub (Gitea too), GitLab, Shopify, Linear, CloudEvents in binary mode, and the generic one. */
const HEADERS = [
  'x-github-event',
  'x-gitlab-event',
  'x-shopify-topic',
  'linear-event',
  'ce-type',
  'x-event-type',
] as const;
/** Stripe, Standard Webhooks, Slack and many others: `type`. */
const BODY_KEYS = ['event_type', 'event', 'type'] as const;

/** A longer text in a body's `type` or `event` is no type name. */
const LONGEST_NAME = 200;

/**
 * What happened: as the provider says that signed it, or else by the headers of all of them, or else by the body;
 * null when none says.
 */
export function eventTypeOf(
  headers: IncomingHttpHeaders,
  payload: unknown,
  /** By which the sender was authenticated. */
  scheme: Scheme | null = null,
): string | null {
  const own = scheme?.own;
  const named = own?.event?.({ headers, payload }) ?? null;
  if (named !== null || own?.eventIsSigned === true) return named;
  return firstHeader(headers, HEADERS) ?? eventInBody(payload);
}

export function eventInBody(payload: unknown): string | null {
  for (const key of BODY_KEYS) {
    const value = nameAt(payload, key);
    // Slack's Events API says `event_callback` for everything; what happened is inside.
    if (value !== null)
      return value === 'event_callback' ? (nameAt(at(payload, 'event'), 'type') ?? value) : value;
  }
  return null;
}

/**
 * Whether a route's `events` (compiled by eventNames) name this event. Besides the provider's own spelling they may
 * have the usual short one, in any case (`Merge Request Hook`, `merge_request`), and the action behind a dot
 * (`pull_request.opened`, `merge_request.open`, `Issue.create`).
 */
export function isNamed(names: ReadonlySet<string>, event: string | null, payload: unknown): boolean {
  if (event === null) return false;
  // GitLab's `object_kind` is the short spelling also where the header differs (`Job Hook` is `build`).
  const spellings = [event, nameAt(payload, 'object_kind')];
  const action = nameAt(payload, 'action') ?? nameAt(at(payload, 'object_attributes'), 'action');
  return spellings.some((spelling) => {
    if (spelling === null) return false;
    const name = canonical(spelling);
    return names.has(name) || (action !== null && names.has(`${name}.${canonical(action)}`));
  });
}

export function eventNames(events: readonly string[]): ReadonlySet<string> {
  return new Set(events.map(canonical));
}

/** `Merge Request Hook` -> `merge_request`, `orders/create` -> `orders_create`, `Issue` -> `issue`. */
function canonical(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/ hook$/, '')
    .replace(/[ /-]/g, '_');
}

/** A short text of the body. */
export function nameAt(payload: unknown, key: string): string | null {
  const value = at(payload, key);
  // It goes into the log: a NUL or half a surrogate pair in somebody's `type` must not be a 500.
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME ? storable(value) : null;
}

function at(payload: unknown, key: string): unknown {
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, key)) return undefined;
  return (payload as Record<string, unknown>)[key];
}

import type { IncomingHttpHeaders } from 'node:http';
import { eventInBody, firstHeader } from '../authenticate/provider-names.ts';
import type { Scheme } from '../authenticate/scheme.ts';
import { cloudEventOf } from '../payload/cloud-event.ts';
import { nameAt, propertyOf } from '../payload/lookup.ts';

/** GitHub (Gitea too), GitLab, Shopify, Linear, CloudEvents even where the rest is missing, and the generic one. */
const HEADERS = [
  'x-github-event',
  'x-gitlab-event',
  'x-shopify-topic',
  'linear-event',
  'ce-type',
  'x-event-type',
] as const;
/**
 * The type of the event, from the provider that signed it, else from the headers of all providers, else from the body;
 * null if none of them names it.
 */
export function eventTypeOf(
  headers: IncomingHttpHeaders,
  payload: unknown,
  /** The one that authenticated the sender. */
  scheme: Scheme | null = null,
): string | null {
  const provider = scheme?.provider;
  const named = provider?.event?.({ headers, payload }) ?? null;
  if (named !== null || provider?.eventIsSigned === true) return named;
  return cloudEventOf(headers, payload)?.type ?? firstHeader(headers, HEADERS) ?? eventInBody(payload);
}

/**
 * Whether a route's `events` (compiled by eventNames) name this event. They may use the provider's own spelling or the
 * usual short one, in upper or lower case (`Merge Request Hook`, `merge_request`), and may add the action after a dot
 * (`pull_request.opened`, `merge_request.open`, `Issue.create`).
 */
export function isNamed(names: ReadonlySet<string>, event: string | null, payload: unknown): boolean {
  if (event === null) return false;
  // GitLab's `object_kind` is the short spelling even where the header differs (`Job Hook` is `build`).
  const spellings = [event, nameAt(payload, 'object_kind')];
  const action = nameAt(payload, 'action') ?? nameAt(propertyOf(payload, 'object_attributes'), 'action');
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

import { z } from 'zod';

/**
 * Routes made by API. Each has a stream of its own, `route-<name>`, whose last event is what it is now; no uuid, so that
 * the views of sessions skip it. Every change is also one event of the stream `routes`, in the same append: a replica
 * that knows its version N reads what came after N, which is one look-up by key however many routes there are.
 */
export const ROUTES_STREAM = 'routes';

export function routeStreamId(name: string): string {
  return `route-${name}`;
}

/** Core NATS: sent after a change, so that every replica of ingress looks at once. Lost ones cost a poll. */
export const ROUTES_PING_SUBJECT = 'angelia.routes';

/** A secret at rest. `key` names the master key that it was sealed with, so that one can be replaced by another. */
const sealed = z.object({
  algorithm: z.literal('aes-256-gcm'),
  key: z.string(),
  nonce: z.base64(),
  /** The ciphertext with its tag behind it. */
  ciphertext: z.base64(),
});
export type Sealed = z.infer<typeof sealed>;

const routeDefined = z.object({
  name: z.string(),
  /** As it was given, without its secret; defaults are filled in where it is used, as for routes of the config file. */
  definition: z.record(z.string(), z.unknown()),
  /** The route's secrets, as a JSON list. null: INSECURE_NO_AUTH. */
  secret: sealed.nullable(),
});

const routeDeleted = z.object({ name: z.string() });

const routesChanged = z.object({
  name: z.string(),
  /** Of the route's own stream. */
  version: z.number().int().positive(),
});

/** Beside the events of sessions: nothing of a session is in these streams. */
export const routeEventSchemas = {
  'route.defined': routeDefined,
  'route.deleted': routeDeleted,
  'routes.changed': routesChanged,
} as const;

export type RouteEventType = keyof typeof routeEventSchemas;
export type RouteEventData<T extends RouteEventType> = z.infer<(typeof routeEventSchemas)[T]>;

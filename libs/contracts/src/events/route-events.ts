import { z } from 'zod';

/**
 * Routes made through the API. Each has its own stream `route-<name>`; the last event is the current definition. The stream
 * id is not a uuid, so the views of sessions skip it. Every change is also one event of the stream `routes`, in the same
 * append. A replica that knows version N of it reads what came after N: one look-up by key, however many routes there are.
 */
export const ROUTES_STREAM = 'routes';

export function routeStreamId(name: string): string {
  return `route-${name}`;
}

/** Core NATS: sent after a change, so that every replica of ingress reads it at once. If it is lost, a poll finds the change. */
export const ROUTES_PING_SUBJECT = 'angelia.routes';

/** An encrypted secret. `key` names the master key that encrypted it, so that master keys can be rotated. */
const sealed = z.object({
  algorithm: z.literal('aes-256-gcm'),
  key: z.string(),
  nonce: z.base64(),
  /** The ciphertext, followed by its tag. */
  ciphertext: z.base64(),
});
export type Sealed = z.infer<typeof sealed>;

const routeDefined = z.object({
  name: z.string(),
  /** As the client sent it, without the secret. Defaults are filled in on use, as for routes of the config file. */
  definition: z.record(z.string(), z.unknown()),
  /** The secrets of the route, as a JSON list. null: INSECURE_NO_AUTH. */
  secret: sealed.nullable(),
});

const routeDeleted = z.object({ name: z.string() });

const routesChanged = z.object({
  name: z.string(),
  /** Version of the route's own stream. */
  version: z.number().int().positive(),
});

/** These streams hold no events of sessions. */
export const routeEventSchemas = {
  'route.defined': routeDefined,
  'route.deleted': routeDeleted,
  'routes.changed': routesChanged,
} as const;

export type RouteEventType = keyof typeof routeEventSchemas;
export type RouteEventData<T extends RouteEventType> = z.infer<(typeof routeEventSchemas)[T]>;

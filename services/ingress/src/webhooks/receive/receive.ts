import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../../http/refusal.ts';
import type { Route, RouteTable } from '../route.ts';

export interface WebhookRequest {
  readonly routeName: string;
  readonly headers: IncomingHttpHeaders;
  /** A Buffer, or nothing if the request had no body. */
  readonly body: unknown;
  /** Path and query as received. */
  readonly url: string;
}

/** A webhook as it came, for a route that takes webhooks. */
export interface Received {
  readonly route: Route;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly nowMs: number;
  /** The address that the sender called, with its query; null if the config has no `public_url`. */
  readonly publicUrl: string | null;
}

const NO_BODY = Buffer.alloc(0);

/** Step 1: finds the route. The body has been read already, up to `limits.max_body_bytes` (read-body.ts). */
export function receive(routes: RouteTable, request: WebhookRequest, nowMs: number): Received {
  const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY;
  const route = openRoute(routes, request.routeName);
  const publicUrl = route.publicUrl === null ? null : route.publicUrl + request.url;
  return { route, headers: request.headers, body, nowMs, publicUrl };
}

/** @throws Refusal 404 if the route does not exist, 403 if it is disabled, 503 if it cannot be used */
export function openRoute(routes: RouteTable, name: string): Route {
  const route = routes.get(name);
  if (route === undefined) {
    throw (
      routes.whyMissing?.(name) ??
      new Refusal(404, 'unknown_route', 'no such route: check the URL against `routes` of the config')
    );
  }
  if (!route.enabled) {
    throw new Refusal(
      403,
      'route_disabled',
      `route ${route.name} is disabled: set \`enabled: true\` to open it`,
    );
  }
  return route;
}

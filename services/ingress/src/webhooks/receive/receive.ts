import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../../http/refusal.ts';
import type { Route, RouteTable } from '../compile-route.ts';

/** A webhook as it came, for a route that takes webhooks. */
export interface Received {
  readonly route: Route;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly nowMs: number;
  /** The address that the sender called, query included; null when the config has no `public_url`. */
  readonly publicUrl: string | null;
}

const NO_BODY = Buffer.alloc(0);

/** Step 1: which route is it for. The body is there already, cut off at `limits.max_body_bytes` (http-server.ts). */
export function receive(
  routes: RouteTable,
  request: {
    readonly routeName: string;
    readonly headers: IncomingHttpHeaders;
    readonly body: unknown;
    /** Path and query as they came. */
    readonly url: string;
  },
  nowMs: number,
): Received {
  const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY;
  const route = openRoute(routes, request.routeName);
  const publicUrl = route.publicUrl === null ? null : route.publicUrl + request.url;
  return { route, headers: request.headers, body, nowMs, publicUrl };
}

/** @throws Refusal 404 for a route that is not there, 403 for one that is switched off, 503 for one that cannot be used. */
export function openRoute(routes: RouteTable, name: string): Route {
  const route = routes.get(name);
  if (route === undefined) {
    throw (
      routes.absence?.(name) ??
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

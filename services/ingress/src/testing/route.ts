import { parseConfig } from '@angelia/contracts';
import { compileRoutes } from '../webhooks/compile-route.ts';
import type { Received } from '../webhooks/receive/receive.ts';
import type { Route } from '../webhooks/route.ts';

/** A route named `hook`, compiled as from the config file. */
export function routeOf(settings: Record<string, unknown>, top: Record<string, unknown> = {}): Route {
  const parsed = parseConfig({ ...top, routes: { hook: { secret: 's3cret', ...settings } } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const route = compileRoutes(parsed.config).get('hook');
  if (route === undefined) throw new Error('no route');
  return route;
}

export const NOW_MS = 1_760_000_000_000;

export function receivedOf(
  route: Route,
  headers: Record<string, string>,
  body: string | Buffer = '{"a":1}',
): Received {
  return { route, headers, body: Buffer.from(body as string), nowMs: NOW_MS, publicUrl: null };
}

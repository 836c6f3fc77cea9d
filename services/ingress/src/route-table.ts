import type { Config, RouteConfig } from '@angelia/contracts';
import type { RateLimit } from '@angelia/event-log';
import { StartupError } from '@angelia/service-kit';
import { compileTarget, type RenderTarget } from './deliver-extra.ts';
import { schemeNamed, schemes } from './schemes/registry.ts';
import { prepareSecret, type Scheme, type Secret } from './schemes/scheme.ts';
import { compileTemplate, type Template } from './template.ts';

/** A route of the config, with everything worked out that does not depend on the request. */
export interface Route {
  readonly name: string;
  readonly enabled: boolean;
  readonly access: Access;
  /** Empty: all. */
  readonly events: ReadonlySet<string>;
  /** null: the whole payload, introduced as Hermes does. */
  readonly prompt: Template | null;
  readonly title: Template | null;
  readonly deliver: RenderTarget;
  readonly fallbackTarget: RenderTarget | null;
  readonly deliveryId: Template | null;
  /** How long a delivery is recognised, in whole seconds: by an id of the sender, and by its content alone. */
  readonly keepSeconds: { readonly sender: number; readonly content: number };
  readonly agent: string;
  readonly toolsets: readonly string[] | null;
  readonly interim: RouteConfig['interim'];
  readonly maxQueueSeconds: number | null;
  /** Of sessions that it makes; undefined: none. */
  readonly rateLimit: RateLimit | undefined;
}

export type Access =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'secret';
      readonly secrets: readonly Secret[];
      /** Named by the route's `auth`; undefined: by the request's headers. */
      readonly scheme: Scheme | undefined;
    };

export type RouteTable = ReadonlyMap<string, Route>;

const NO_AUTH = 'INSECURE_NO_AUTH';
const SECONDS_PER_DAY = 86_400;

/** Of a config that service-kit has checked: names exist, every route has a secret, no open route off loopback. */
export function compileRoutes(config: Config): RouteTable {
  const deliveryIdsDays = config.retention.delivery_ids_days;
  return new Map(
    Object.entries(config.routes).map(([name, route]) => [
      name,
      compileRoute(
        name,
        route,
        accessOf(name, route, config.secret),
        deliveryIdsDays,
        route.rate_limit ?? config.limits.rate_limit,
      ),
    ]),
  );
}

function compileRoute(
  name: string,
  route: RouteConfig,
  access: Access,
  deliveryIdsDays: number,
  perMinute: number,
): Route {
  const fallback = route.fallback_target;
  return {
    name,
    enabled: route.enabled,
    access,
    events: new Set(route.events),
    prompt: route.prompt === '' ? null : compileTemplate(route.prompt),
    title: route.title === undefined ? null : compileTemplate(route.title),
    deliver: compileTarget(route.deliver, route.deliver_extra),
    fallbackTarget: fallback === undefined ? null : compileTarget(fallback.deliver, fallback.deliver_extra),
    deliveryId: route.delivery_id === undefined ? null : compileTemplate(route.delivery_id),
    keepSeconds: {
      sender: Math.ceil(deliveryIdsDays * SECONDS_PER_DAY),
      content: Math.ceil(route.dedupe_window_seconds),
    },
    agent: route.agent,
    toolsets: route.toolsets ?? null,
    interim: route.interim,
    maxQueueSeconds: route.max_queue_seconds ?? null,
    rateLimit: perMinute === 0 ? undefined : { resource: `route:${name}`, perMinute },
  };
}

/** A route without any secret is not open: it has no secret that could fit, so that every request is refused. */
function accessOf(name: string, route: RouteConfig, fallbackSecret: string | undefined): Access {
  const secrets = [route.secret ?? fallbackSecret ?? []].flat();
  if (secrets.length === 1 && secrets[0] === NO_AUTH) return { kind: 'open' };
  return {
    kind: 'secret',
    secrets: secrets.filter((secret) => secret !== NO_AUTH).map(prepareSecret),
    scheme: route.auth === undefined ? undefined : schemeOf(name, route.auth),
  };
}

function schemeOf(routeName: string, name: string): Scheme {
  const scheme = schemeNamed(name);
  if (scheme !== null) return scheme;
  const known = schemes.map((each) => each.name).join(', ');
  throw new StartupError([
    `routes.${routeName}.auth: unknown scheme \`${name}\`: use one of ${known}, or leave it out`,
  ]);
}

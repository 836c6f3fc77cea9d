import { routeFileProblems, StartupError } from '@angelia/config';
import type { AuthScheme, Config, RouteConfig } from '@angelia/contracts';
import type { RateLimit } from '@angelia/event-log';
import type { Refusal } from '../http/refusal.ts';
import { eventNames } from './admit/event-type.ts';
import { prepareSecret, type Scheme, type Secret } from './authenticate/scheme.ts';
import { schemeNamed } from './authenticate/schemes/registry.ts';
import { isPublicKey } from './authenticate/standard-secret.ts';
import { compileFilters, type Filter } from './filter.ts';
import { compileTemplate, type Template } from './payload/template.ts';
import { compileTarget, type RenderTarget } from './render/delivery-target.ts';
import { compileKeying, type Keying } from './render/session-key.ts';
import type { Script } from './transform/transform.ts';

/** A route of the config, with everything worked out that does not depend on the request. */
export interface Route {
  readonly name: string;
  readonly madeByApi: boolean;
  readonly enabled: boolean;
  readonly access: Access;
  /** Where senders reach us, without the path of the route; null when the config does not say. */
  readonly publicUrl: string | null;
  /** By eventNames; empty: all. */
  readonly events: ReadonlySet<string>;
  /** null: all pass. */
  readonly filter: Filter | null;
  readonly script: Script | null;
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
  readonly skills: readonly string[];
  /** The rendered prompt is what is sent, and no agent works on it. */
  readonly deliverOnly: boolean;
  readonly interim: RouteConfig['interim'];
  readonly maxQueueSeconds: number | null;
  /** Runs of this route at once, by all runners together. */
  readonly maxConcurrency: number | null;
  /** null: every webhook is a session of its own. */
  readonly keying: Keying | null;
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

export interface RouteTable {
  get(name: string): Route | undefined;
  /** Why there is none, where that is not simply that there is no such route. */
  absence?(name: string): Refusal | null;
}

export const INSECURE_NO_AUTH = 'INSECURE_NO_AUTH';
const SECONDS_PER_DAY = 86_400;

/** Of a config that service-kit has checked: names exist, every route has a secret, no open route off loopback. */
export function compileRoutes(
  config: Config,
  /** Of a route made by API: nobody who wrote the config has vouched for them. */
  { untrustedAddresses = false } = {},
): ReadonlyMap<string, Route> {
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
        config,
        untrustedAddresses,
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
  config: Config,
  untrusted: boolean,
): Route {
  const problems = routeFileProblems(name, route, config.directories);
  if (problems.length > 0) {
    throw new StartupError(problems.map(({ place, reason }) => `${place}: ${reason}`));
  }
  const fallback = route.fallback_target;
  return {
    name,
    madeByApi: untrusted,
    enabled: route.enabled,
    access,
    publicUrl: config.public_url?.replace(/\/+$/, '') ?? null,
    events: eventNames(route.events),
    filter: compileFilters(route.filters),
    script: scriptOf(route, config),
    prompt: route.prompt === '' ? null : compileTemplate(route.prompt),
    title: route.title === undefined ? null : compileTemplate(route.title),
    deliver: compileTarget(config, route.deliver, route.deliver_extra, untrusted),
    fallbackTarget:
      fallback === undefined
        ? null
        : compileTarget(config, fallback.deliver, fallback.deliver_extra, untrusted),
    deliveryId: deliveryIdTemplate(name, route),
    keepSeconds: {
      sender: Math.ceil(deliveryIdsDays * SECONDS_PER_DAY),
      content: Math.ceil(route.dedupe_window_seconds),
    },
    agent: route.agent,
    toolsets: route.toolsets ?? null,
    skills: route.skills,
    deliverOnly: route.deliver_only,
    interim: route.interim,
    maxQueueSeconds: route.max_queue_seconds ?? null,
    maxConcurrency: route.max_concurrency ?? null,
    keying: compileKeying(route),
    rateLimit: perMinute === 0 ? undefined : { resource: `route:${name}`, perMinute },
  };
}

function deliveryIdTemplate(routeName: string, { delivery_id: source = '' }: RouteConfig): Template | null {
  if (source === '') return null;
  const template = compileTemplate(source);
  if (!template.dynamic) {
    throw new StartupError([
      `routes.${routeName}.delivery_id: it has no placeholder, so that every webhook would be a duplicate of the first: name what differs, for example \`{id}\``,
    ]);
  }
  return template;
}

function scriptOf(route: RouteConfig, { directories, limits }: Config): Script | null {
  if (route.script === undefined) return null;
  return {
    directory: directories.scripts,
    name: route.script,
    retryOnFailure: route.retry_on_script_failure ?? false,
    timeoutMs: limits.script_timeout_seconds * 1000,
    // What it prints is a payload again.
    maxOutputBytes: limits.max_body_bytes,
  };
}

/** A route without any secret is not open: it has no secret that could fit, so that every request is refused. */
function accessOf(name: string, route: RouteConfig, fallbackSecret: string | undefined): Access {
  const secrets = [route.secret ?? fallbackSecret ?? []].flat();
  if (secrets.length === 1 && secrets[0] === INSECURE_NO_AUTH) return { kind: 'open' };
  return {
    kind: 'secret',
    secrets: secrets.filter((secret) => secret !== INSECURE_NO_AUTH).map(prepareSecret),
    scheme: route.auth === undefined ? undefined : schemeOf(name, route.auth, secrets),
  };
}

function schemeOf(routeName: string, name: AuthScheme, secrets: readonly string[]): Scheme {
  const scheme = schemeNamed(name);
  for (const secret of secrets) {
    const problem = secretProblem(scheme, secret);
    if (problem !== null) throw new StartupError([`routes.${routeName}.secret: ${problem}`]);
  }
  return scheme;
}

function secretProblem(scheme: Scheme, secret: string): string | null {
  if (isPublicKey(secret) && scheme.takesPublicKeys !== true) {
    return `a public key (\`whpk_\`) is for standard-webhooks and svix only: ${scheme.name} needs a secret that nobody else knows`;
  }
  return scheme.refuses?.(secret) ?? null;
}

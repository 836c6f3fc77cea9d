import { ConfigUnusable, INSECURE_NO_AUTH, routeFileProblems, toolPolicyOf } from '@angelia/config';
import type { Auth, Config, RouteConfig } from '@angelia/contracts';
import { eventNames } from './admit/event-type.ts';
import { prepareSecret, type Scheme } from './authenticate/scheme.ts';
import { schemeNamed } from './authenticate/scheme-registry.ts';
import { hmacScheme, tokenScheme } from './authenticate/schemes/configured.ts';
import { compileFilters } from './filter/compile-filters.ts';
import { compileTemplate } from './payload/template.ts';
import { compileTarget } from './render/delivery-target.ts';
import { compileKeying } from './render/session-key.ts';
import type { Access, Route } from './route.ts';
import type { Script } from './transform/transform.ts';

const SECONDS_PER_DAY = 86_400;

/** Expects a checked config: every name exists, every route has a secret that can match, no open route listens beyond loopback. */
export function compileRoutes(
  config: Config,
  /** True for a route made by API: nobody who wrote the config has approved its addresses. */
  { untrustedAddresses = false } = {},
): ReadonlyMap<string, Route> {
  return new Map(
    Object.entries(config.routes).map(([name, route]) => [
      name,
      compileRoute(name, route, config, untrustedAddresses),
    ]),
  );
}

function compileRoute(name: string, route: RouteConfig, config: Config, untrusted: boolean): Route {
  const access = accessOf(route, config.secret);
  const problems = routeFileProblems(name, route, config.directories);
  if (problems.length > 0) throw new ConfigUnusable(problems);
  const fallback = route.fallback_target;
  const leaveOut = route.on_missing === 'empty';
  const { delivery_id: deliveryId = '' } = route;
  const perMinute = route.rate_limit ?? config.limits.rate_limit;
  return {
    name,
    madeByApi: untrusted,
    enabled: route.enabled,
    access,
    publicUrl: config.public_url?.replace(/\/+$/, '') ?? null,
    events: eventNames(route.events),
    filter: compileFilters(route.filters),
    script: scriptOf(route, config),
    prompt: route.prompt === '' ? null : compileTemplate(route.prompt, { leaveOut }),
    title: route.title === undefined ? null : compileTemplate(route.title, { leaveOut }),
    onMissing: route.on_missing,
    deliver: compileTarget(config, route.deliver, route.deliver_extra, untrusted),
    fallbackTarget:
      fallback === undefined
        ? null
        : compileTarget(config, fallback.deliver, fallback.deliver_extra, untrusted),
    deliveryId: deliveryId === '' ? null : compileTemplate(deliveryId),
    keepSeconds: {
      sender: Math.ceil(config.retention.delivery_ids_days * SECONDS_PER_DAY),
      content: Math.ceil(route.dedupe_window_seconds),
    },
    agent: route.agent,
    toolsets: route.toolsets ?? null,
    tools: toolPolicyOf(config, route),
    skills: route.skills,
    deliverOnly: route.deliver_only,
    interim: route.interim,
    maxQueueSeconds: route.max_queue_seconds ?? null,
    maxConcurrency: route.max_concurrency ?? null,
    keying: compileKeying(route),
    rateLimit: perMinute === 0 ? undefined : { resource: `route:${name}`, perMinute },
  };
}

function scriptOf(route: RouteConfig, { directories, limits }: Config): Script | null {
  if (route.script === undefined) return null;
  return {
    directory: directories.scripts,
    name: route.script,
    retryOnFailure: route.retry_on_script_failure ?? false,
    timeoutMs: limits.script_timeout_seconds * 1000,
    // Its output becomes the payload.
    maxOutputBytes: limits.max_body_bytes,
  };
}

/** A route without any secret is not open: no secret can match, so every request is refused. */
function accessOf(route: RouteConfig, fallbackSecret: string | undefined): Access {
  const secrets = [route.secret ?? fallbackSecret ?? []].flat();
  if (secrets.length === 1 && secrets[0] === INSECURE_NO_AUTH) return { kind: 'open' };
  return {
    kind: 'secret',
    secrets: secrets.filter((secret) => secret !== INSECURE_NO_AUTH).map(prepareSecret),
    scheme: route.auth === undefined ? undefined : schemeOf(route.auth),
  };
}

function schemeOf(auth: Auth): Scheme {
  if (typeof auth === 'string') return schemeNamed(auth);
  return auth.scheme === 'hmac' ? hmacScheme('hmac', [auth]) : tokenScheme('token', auth);
}

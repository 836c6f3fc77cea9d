import type { Config } from '@angelia/contracts';
import { referencesIn, withReferences } from './variables.ts';

/**
 * `${NAME}` in a route's `deliver_extra`. Everywhere else a variable is filled in when the config is read; here it stays a
 * reference, as what a route says about its target is written to events, which are for ever. Delivery reads the variable
 * when it sends.
 */

/** The config with the references of its routes' addresses as they are written. It was checked with their values before. */
export function keepAddressVariables(config: Config, file: unknown, env: NodeJS.ProcessEnv): Config {
  const routes = objectAt(file, 'routes');
  return {
    ...config,
    routes: Object.fromEntries(
      Object.entries(config.routes).map(([name, route]) => {
        const { deliver_extra, fallback_target } = addressesOf(routes[name]);
        const kept = {
          ...route,
          deliver_extra: withReferences(deliver_extra, env) as typeof route.deliver_extra,
        };
        if (route.fallback_target === undefined) return [name, kept];
        const extra = withReferences(fallback_target, env) as typeof route.deliver_extra;
        return [name, { ...kept, fallback_target: { ...route.fallback_target, deliver_extra: extra } }];
      }),
    ),
  };
}

/** What a reference in a captured address comes to when it is sent. */
export type AddressVariables = (name: string) => { readonly value: string } | { readonly reason: string };

/**
 * A session outlives its route (config-is-a-fact): the variable is read also where no route names it any more. Not read are
 * those that the config names for something else, and our own, unless a route names them here: whoever can write to the
 * database could otherwise have the key of a model sent to a host of their choice.
 */
export function addressVariables(file: unknown, env: NodeJS.ProcessEnv): AddressVariables {
  const routes = Object.values(objectAt(file, 'routes'));
  const here = referencesIn(routes.map((route) => Object.values(addressesOf(route))));
  const elsewhere = referencesIn(withoutAddresses(file));
  return (name) => {
    if (!here.has(name) && (elsewhere.has(name) || OURS.test(name))) {
      return {
        reason: `the environment variable ${name} is for something else, and no route names it in \`deliver_extra\``,
      };
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined || value === ''
      ? { reason: `the environment variable ${name} is not set: set it for delivery, and start it again` }
      : { value };
  };
}

const OURS = /^(?:ANGELIA|NATS|OTEL|NODE)_|^DATABASE_URL$|^PG[A-Z]+$/;

function addressesOf(route: unknown): { deliver_extra: object; fallback_target: object } {
  return {
    deliver_extra: objectAt(route, 'deliver_extra'),
    fallback_target: objectAt(objectAt(route, 'fallback_target'), 'deliver_extra'),
  };
}

function withoutAddresses(file: unknown): unknown {
  const routes = Object.entries(objectAt(file, 'routes')).map(([name, route]) => [
    name,
    {
      ...objectAt({ route }, 'route'),
      deliver_extra: null,
      fallback_target: { ...objectAt(route, 'fallback_target'), deliver_extra: null },
    },
  ]);
  return { ...objectAt({ file }, 'file'), routes: Object.fromEntries(routes) };
}

function objectAt(value: unknown, key: string): Readonly<Record<string, unknown>> {
  const found =
    typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? (value as Readonly<Record<string, unknown>>)[key]
      : undefined;
  return typeof found === 'object' && found !== null && !Array.isArray(found)
    ? (found as Readonly<Record<string, unknown>>)
    : {};
}

import type { Config } from '@angelia/contracts';
import { variablesIn, withVariableTexts } from './variables.ts';

/**
 * `${NAME}` in a route's `deliver_extra`. Everywhere else a variable is filled in when the config is read. Here the name is
 * kept, because events keep for ever what a route says about its target. Delivery reads the variable when it sends.
 */

/** The config with the variables of its routes' addresses kept by name. It was checked with their values before. */
export function keepAddressVariables(config: Config, file: unknown, env: NodeJS.ProcessEnv): Config {
  const routes = objectAt(file, 'routes');
  return {
    ...config,
    routes: Object.fromEntries(
      Object.entries(config.routes).map(([name, route]) => {
        const { deliver_extra, fallback_target } = addressesOf(routes[name]);
        const kept = {
          ...route,
          deliver_extra: withVariableTexts(deliver_extra, env) as typeof route.deliver_extra,
        };
        if (route.fallback_target === undefined) return [name, kept];
        const extra = withVariableTexts(fallback_target, env) as typeof route.deliver_extra;
        return [name, { ...kept, fallback_target: { ...route.fallback_target, deliver_extra: extra } }];
      }),
    ),
  };
}

/** The value of a variable that a captured address names, or why it has none. */
export type AddressVariables = (name: string) => { readonly value: string } | { readonly reason: string };

/**
 * A session outlives its route (invariant config-is-a-fact), so a variable is read even if no route names it any more.
 * Exceptions are variables that the config names elsewhere, and our own, unless a route names them in an address:
 * otherwise whoever can write to the database could have the key of a model sent to a host of their choice.
 */
export function addressVariables(file: unknown, env: NodeJS.ProcessEnv): AddressVariables {
  const routes = Object.values(objectAt(file, 'routes'));
  const here = variablesIn(routes.map((route) => Object.values(addressesOf(route))));
  const elsewhere = variablesIn(withoutAddresses(file));
  return (name) => {
    if (!here.has(name) && (elsewhere.has(name) || OURS.test(name))) {
      return {
        reason: `the environment variable ${name} is for something else, and no route names it in \`deliver_extra\``,
      };
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined || value === ''
      ? {
          reason: `the environment variable ${name} is not set: write it into .env beside the config, or set it for delivery and restart delivery`,
        }
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

export function objectAt(value: unknown, key: string): Readonly<Record<string, unknown>> {
  const found =
    typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? (value as Readonly<Record<string, unknown>>)[key]
      : undefined;
  return typeof found === 'object' && found !== null && !Array.isArray(found)
    ? (found as Readonly<Record<string, unknown>>)
    : {};
}

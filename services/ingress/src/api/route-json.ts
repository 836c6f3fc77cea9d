import { REDACTED, VariableText } from '@angelia/config';
import { isSecretKey, type RouteConfig } from '@angelia/contracts';
import { INSECURE_NO_AUTH } from '../route-table.ts';
import type { LiveRoute } from '../routes/made-route.ts';
import type { RouteJson } from './routes.operations.ts';

export function routeOfFileJson(
  name: string,
  { secret, ...definition }: RouteConfig,
  fallbackSecret: string | undefined,
): RouteJson {
  return {
    name,
    path: `/webhooks/${name}`,
    source: 'config',
    status: definition.enabled ? 'active' : 'disabled',
    problem: null,
    authenticated: [secret ?? fallbackSecret].flat()[0] !== INSECURE_NO_AUTH,
    definition: withoutSecrets(definition) as RouteJson['definition'],
    revision: null,
    updated_at: null,
  };
}

export function madeRouteJson({
  name,
  version,
  updatedAt,
  definition,
  sealed,
  standing,
}: LiveRoute): RouteJson {
  return {
    name,
    path: `/webhooks/${name}`,
    source: 'api',
    status: standing.usable ? (standing.route.enabled ? 'active' : 'disabled') : 'unusable',
    problem: standing.usable ? null : standing.problem,
    authenticated: sealed !== null,
    definition: withoutSecrets(standing.usable ? standing.effective : definition) as RouteJson['definition'],
    revision: version,
    updated_at: new Date(updatedAt).toISOString(),
  };
}

/** Headers of a delivery may carry a token, which the config filled in from the environment. */
function withoutSecrets(value: unknown): unknown {
  if (value instanceof VariableText) return value.toString();
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      isSecretKey(key) && typeof item === 'string' ? REDACTED : withoutSecrets(item),
    ]),
  );
}

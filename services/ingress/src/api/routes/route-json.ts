import { INSECURE_NO_AUTH, REDACTED, VariableText } from '@angelia/config';
import { isSecretKey, type RouteConfig } from '@angelia/contracts';
import type { ApiRoute } from '../../routes/api-route.ts';
import type { RouteJson } from './routes.operations.ts';

export function configRouteJson(
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

export function apiRouteJson({
  name,
  version,
  updatedAt,
  definition,
  sealed,
  compiled,
}: ApiRoute): RouteJson {
  return {
    name,
    path: `/webhooks/${name}`,
    source: 'api',
    status: compiled.usable ? (compiled.route.enabled ? 'active' : 'disabled') : 'unusable',
    problem: compiled.usable ? null : compiled.problem,
    authenticated: sealed !== null,
    definition: withoutSecrets(compiled.usable ? compiled.effective : definition) as RouteJson['definition'],
    revision: version,
    updated_at: new Date(updatedAt).toISOString(),
  };
}

/** Headers of a delivery may contain a token that the config took from the environment. */
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

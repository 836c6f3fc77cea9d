import { withoutSecrets } from '@angelia/config';
import type { RouteConfig } from '@angelia/contracts';
import type { ApiRoute } from '../../routes/api-route.ts';
import { INSECURE_NO_AUTH } from '../../webhooks/compile-route.ts';
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

import { filterSchema, routeSchema } from '@angelia/contracts';
import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { cursor, limit } from '../../http/parse-request.ts';

export const routesQuery = z.strictObject({ limit, cursor });

const routeFields = {
  name: z.string(),
  path: z.string().describe('where its webhooks go: POST /webhooks/{name}'),
  source: z
    .enum(['config', 'api'])
    .describe('`config`: from the config file, which wins; no call can change it'),
  status: z
    .enum(['active', 'disabled', 'unusable'])
    .describe('`unusable`: `problem` says why; its webhooks are answered with 503'),
  problem: z.string().nullable(),
  authenticated: z.boolean().describe('false: INSECURE_NO_AUTH'),
  definition: z
    .record(z.string(), z.unknown())
    .describe('with defaults and without secrets; for an unusable route as it was given'),
  revision: z.number().int().nullable().describe('for a route made by API; also in `ETag`, for `If-Match`'),
  updated_at: z.iso.datetime().nullable(),
};

export type RouteJson = z.infer<typeof route>;
const route = component('Route', z.object(routeFields));

export type PutRouteJson = z.infer<typeof putRoute>;
const putRoute = component(
  'PutRoute',
  z.object({
    ...routeFields,
    secret: z
      .string()
      .optional()
      .describe('the secret that this call generated because none was given; it is never shown again'),
  }),
);

// A named component, because filters contain filters.
component('RouteFilter', filterSchema);
const definition = component('RouteDefinition', routeSchema);
const parameters = { name: 'name of the route: lower-case letters, digits, - and _' };
const ifMatch = { 'If-Match': 'the `ETag` that was seen: 412 if the route has changed since' };

export const routeOperations = [
  operation({
    method: 'get',
    path: '/v1/routes',
    summary: 'All routes, sorted by name: from the config file and made by API',
    access: 'admin',
    query: routesQuery,
    answers: { 200: answer('a page', pageOf('RoutePage', route)) },
    errors: [400],
  }),
  operation({
    method: 'get',
    path: '/v1/routes/{name}',
    summary: 'One route, without its secret',
    access: 'admin',
    parameters,
    answers: { 200: answer('the route', route) },
    errors: [400, 404],
  }),
  operation({
    method: 'put',
    path: '/v1/routes/{name}',
    summary: 'Create a route, or replace its definition; active on every replica within a second',
    description:
      'The keys are those of a route in the config file, except `script`, `retry_on_script_failure` and `in_file` ' +
      'filters, which are allowed only in the file. Environment variables are not filled in. Toolsets must be a subset of ' +
      '`api_routes.allowed_toolsets`. Without `secret` a new route gets a generated one, which is returned only this once; ' +
      'an existing route keeps its own. The same PUT again changes nothing. Existing sessions do not change.',
    access: 'admin',
    parameters,
    headers: { ...ifMatch, 'If-None-Match': '`*`: only if the route does not exist yet, else 412' },
    body: definition,
    answers: {
      200: answer('it existed; changed if it differed', putRoute),
      201: answer('it was created', putRoute),
    },
    errors: [400, 409, 412, 413, 415],
  }),
  operation({
    method: 'delete',
    path: '/v1/routes/{name}',
    summary: 'Delete a route made by API; its sessions continue',
    access: 'admin',
    parameters,
    headers: ifMatch,
    answers: { 204: answer('it is deleted') },
    errors: [400, 404, 409, 412],
  }),
];

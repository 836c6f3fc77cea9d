import { filterSchema, routeSchema } from '@angelia/contracts';
import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { cursor, limit, routeName } from '../../http/parse-request.ts';

const traffic = z
  .enum(['true', 'false'])
  .optional()
  .transform((given) => given === 'true')
  .describe('also say what the route did in the last 24 hours');

export const routeQuery = z.strictObject({ traffic });
export const routesQuery = z.strictObject({
  traffic,
  limit,
  cursor,
});

const count = z.number().int().nonnegative();
const time = z.iso.datetime();

export type RouteTrafficJson = z.infer<typeof routeTraffic>;
const routeTraffic = component(
  'RouteTraffic',
  z.object({
    last_webhook_at: time
      .nullable()
      .describe('the last webhook that came, whether it started a session or not'),
    last_session_at: time.nullable().describe('when its last session was created'),
    sessions: count.describe('created in the last 24 hours'),
    failed: count.describe('of these: ended as `failed` or `expired`'),
    exact: z.boolean().describe('false: `sessions` and `failed` are lower bounds'),
  }),
);

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
  traffic: routeTraffic.optional().describe('only with `traffic=true`'),
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

const target = component(
  'RenderedTarget',
  z.object({ target: z.string(), to: z.record(z.string(), z.unknown()) }),
);

// A named component, because filters contain filters.
component('RouteFilter', filterSchema);
const definition = component('RouteDefinition', routeSchema);
const parameters = { name: 'name of the route: lower-case letters, digits, - and _' };
const ifMatch = { 'If-Match': 'the `ETag` that was seen: 412 if the route has changed since' };

const payload = z.unknown().describe('the body of the webhook: any JSON');
const headers = z
  .record(z.string().max(200), z.string().max(8_000))
  .default({})
  .describe('headers of the webhook, such as `x-github-event`; upper and lower case do not matter');

export const previewBody = component(
  'NewRoutePreview',
  z.strictObject({
    name: routeName
      .optional()
      .describe('without `route`: the existing route to preview. With it: what the new route is called'),
    route: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('the settings, as for PUT; they need not be complete or right'),
    payload,
    headers,
  }),
);

export type PreviewJson = z.infer<typeof preview>;
const preview = component(
  'RoutePreview',
  z.object({
    outcome: z
      .enum(['starts', 'ignored', 'refused', 'unusable'])
      .describe('`unusable`: the settings are wrong, and `problems` says where'),
    reason: z.string().nullable().describe('why it would start nothing'),
    problems: z.array(
      z.object({
        place: z.string().describe('the key of the settings, such as `filters.0.regex` or `prompt`'),
        message: z.string(),
      }),
    ),
    event: z.string().nullable(),
    delivery_id: z.string().nullable().describe('by which a repeat is recognised'),
    wants_event: z.boolean().nullable().describe('whether `events` names the event; null: not judged'),
    filters: z
      .array(
        z.object({
          index: count.describe('in `filters`'),
          passes: z.boolean(),
          detail: z.string().describe('the filter, and the values that it saw'),
        }),
      )
      .describe('each judged by itself, also after one that says no'),
    script: z
      .literal('not_run')
      .nullable()
      .describe('`not_run`: the route has a script, which may still change or ignore the payload'),
    prompt: z.string().nullable().describe('what the agent is told; null: not rendered'),
    title: z.string().nullable(),
    session_key: z.string().nullable(),
    deliver: target.nullable(),
    fallback_target: target.nullable(),
    missing: z.array(z.string()).describe('placeholders that the payload has no value for'),
  }),
);

export const testBody = component('NewTestWebhook', z.strictObject({ payload, headers }));

export type TestedJson = z.infer<typeof tested>;
const tested = component(
  'TestWebhook',
  z.object({
    status: z.enum(['accepted', 'coalesced', 'duplicate', 'ignored', 'handshake', 'refused']),
    http_status: z.number().int().describe('what a sender would be answered'),
    session_id: z.uuid().nullable(),
    delivery_id: z.string().nullable(),
    event: z.string().nullable(),
    reason: z.string().nullable().describe('a stable code: why it started nothing'),
    detail: z.string().nullable().describe('the same as a sentence'),
  }),
);

export const rotation = component(
  'SecretRotation',
  z.strictObject({
    keep_previous: z
      .boolean()
      .default(true)
      .describe('senders may also use the previous secret, until the next rotation'),
  }),
);

const rotated = component(
  'RotatedSecret',
  z.object({
    ...routeFields,
    secret: z.string().describe('the new secret; it is never shown again'),
    secrets: count.describe('how many senders may use now'),
  }),
);
export type RotatedJson = z.infer<typeof rotated>;

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
    query: routeQuery,
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
  operation({
    method: 'post',
    path: '/v1/routes/preview',
    summary: 'What a webhook would do with these settings; nothing is stored',
    description:
      'For an editor: wrong settings are an answer, not an error. Filters are judged one by one, and the templates are ' +
      'rendered even if a filter says no. Neither the signature nor a script is tried.',
    access: 'admin',
    body: previewBody,
    answers: { 200: answer('the preview', preview) },
    errors: [400, 404, 413],
  }),
  operation({
    method: 'post',
    path: '/v1/routes/{name}/test',
    summary: 'Send a route a webhook without a signature',
    description:
      'It passes the same steps as every webhook after the check of its signature: events, filters, script, templates, rate limit ' +
      'and idempotency, so the same test again is a duplicate unless its headers or payload have another delivery id. The ' +
      'actor of `session.created` says that it is a test. Its answer is delivered.',
    access: 'admin',
    parameters,
    body: testBody,
    answers: { 200: answer('what became of it', tested) },
    errors: [400, 404, 413],
  }),
  operation({
    method: 'post',
    path: '/v1/routes/{name}/rotate-secret',
    summary: 'Give a route made by API a new secret',
    access: 'admin',
    parameters,
    headers: ifMatch,
    body: rotation,
    bodyIsOptional: true,
    answers: { 200: answer('the new secret', rotated) },
    errors: [400, 404, 409, 412],
  }),
];

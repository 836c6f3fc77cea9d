import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { answerOperations } from '../../answers/answers.operations.ts';
import { approvalLinkOperations } from '../../answers/approval-links.operations.ts';
import { callbackOperations } from '../../callbacks/callbacks.operations.ts';
import { chatUpdateOperations } from '../../chats/receive/chats.operations.ts';
import { consoleOperations } from '../../console/console.operations.ts';
import { components, errorBody, htmlPage, type Operation } from '../../http/operation.ts';
import { webhookOperations } from '../../webhooks/webhook.operations.ts';
import { approvalOperations } from '../approvals/approvals.operations.ts';
import { chatOperations } from '../chats/chats.operations.ts';
import { configOperations } from '../config/config.operations.ts';
import { deadLetterOperations } from '../dead-letters/dead-letters.operations.ts';
import { deliveryOperations } from '../deliveries/deliveries.operations.ts';
import { eventOperations } from '../events/events.operations.ts';
import { jobOperations } from '../jobs/jobs.operations.ts';
import { overviewOperations } from '../overview/overview.operations.ts';
import { processOperations } from '../processes/processes.operations.ts';
import { questionOperations } from '../questions/questions.operations.ts';
import { routeOperations } from '../routes/routes.operations.ts';
import { sessionOperations } from '../sessions/sessions.operations.ts';
import { streamOperations } from '../stream/stream.operations.ts';
import { systemOperations } from '../system/system.operations.ts';
import { turnOperations } from '../turns/turns.operations.ts';
import { unstartedOperations } from '../unstarted-webhooks/unstarted-webhooks.operations.ts';
import { outgoingWebhooks } from './outgoing-webhooks.ts';
import { publicOperations } from './public.operations.ts';

/** Every call that ingress answers. */
export const operations: readonly Operation[] = [
  ...webhookOperations,
  ...chatUpdateOperations,
  ...publicOperations,
  ...answerOperations,
  ...approvalLinkOperations,
  ...callbackOperations,
  ...sessionOperations,
  ...turnOperations,
  ...questionOperations,
  ...approvalOperations,
  ...streamOperations,
  ...eventOperations,
  ...jobOperations,
  ...deliveryOperations,
  ...deadLetterOperations,
  ...processOperations,
  ...routeOperations,
  ...unstartedOperations,
  ...chatOperations,
  ...configOperations,
  ...overviewOperations,
  ...systemOperations,
  ...consoleOperations,
];

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 document, made from the schemas that the code parses and answers with. */
export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const described of operations) {
    const path = paths[described.path] ?? {};
    path[described.method] = operationJson(described);
    paths[described.path] = path;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Angelia',
      version: '1',
      summary: 'An event-sourced agent gateway: webhooks in, an agent works, answers delivered.',
      description:
        'Changes only add to it: ignore fields and event types that you do not know. ' +
        'Every error is `{"error": "..."}` and says what to do; 429 and 503 carry `Retry-After`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(tagOf))].map((name) => ({ name })),
    paths,
    webhooks: Object.fromEntries(
      Object.entries(outgoingWebhooks).map(([name, { body, ...post }]) => [
        name,
        {
          post: {
            ...post,
            requestBody: { required: true, content: { 'application/json': { schema: reference(body) } } },
          },
        },
      ]),
    ),
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        adminToken: { type: 'http', scheme: 'bearer', description: '`ANGELIA_ADMIN_TOKEN`' },
        consoleCookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'angelia_session',
          description:
            'of a browser that signed in (POST /console/session); every method but GET and HEAD also needs the header ' +
            '`X-Angelia-CSRF`',
        },
      },
    },
  };
}

/** Each entry alone is enough. */
const securityOf: Readonly<Record<Operation['access'], readonly Json[]>> = {
  admin: [{ adminToken: [] }, { consoleCookie: [] }],
  console: [{ consoleCookie: [] }],
  signature: [],
  open: [],
};

function operationJson(described: Operation): Json {
  const answers: Record<string, Json> = {};
  for (const [status, { description, schema, contentType }] of Object.entries(described.answers)) {
    answers[status] = {
      description,
      ...(schema === null ? {} : { content: { [contentType]: { schema: reference(schema) } } }),
    };
  }
  const security = securityOf[described.access];
  const errors = [
    ...(described.errors ?? []),
    // Every such call needs the log, which may be away. 403: the cookie without its CSRF token, or by a foreign page.
    ...(security.length > 0 ? [401, 403, 429, 503] : []),
    // A body may be malformed, too large, or of another type, also where the call needs none.
    ...(described.method === 'get' || described.method === 'options' ? [] : [400, 413, 415]),
    405,
  ];
  for (const status of errors) answers[status] ??= errorAnswer(status);
  answers.default = errorAnswer(null);
  if (described.pages === true) for (const given of Object.values(answers)) alsoAsPage(given);
  const parameters = parametersOf(described);
  return {
    operationId: operationId(described),
    tags: [tagOf(described)],
    summary: described.summary,
    ...(described.description === undefined ? {} : { description: described.description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(described.body === undefined ? {} : { requestBody: requestBody(described) }),
    responses: answers,
    security,
  };
}

function alsoAsPage(given: Json): void {
  Object.assign(given.content as object, { 'text/html': { schema: reference(htmlPage) } });
}

function requestBody({ body, bodyIsOptional, formBody }: Operation): Json {
  const required = bodyIsOptional !== true;
  if (body === null || body === undefined) {
    return {
      required,
      content: {
        'application/json': {},
        'application/x-www-form-urlencoded': {},
        'application/cloudevents+json': {},
        'application/cloudevents-batch+json': {},
      },
    };
  }
  const schema = reference(body);
  return {
    required,
    content: {
      'application/json': { schema },
      ...(formBody === true ? { 'application/x-www-form-urlencoded': { schema } } : {}),
    },
  };
}

/** Null: the statuses of every HTTP server, such as 431, and 500. */
function errorAnswer(status: number | null): Json {
  return {
    description: STATUS_CODES[status ?? ''] ?? 'any other error',
    ...(status === 405
      ? { headers: { Allow: { description: 'the methods of this address', schema: { type: 'string' } } } }
      : {}),
    ...(status === 429 || status === 503
      ? { headers: { 'Retry-After': { description: 'seconds', schema: { type: 'integer' } } } }
      : {}),
    content: { 'application/json': { schema: reference(errorBody) } },
  };
}

function parametersOf(described: Operation): Json[] {
  const inPath = Object.entries(described.parameters ?? {}).map(([name, description]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
  }));
  const query = described.query === undefined ? null : inlined(described.query);
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: query?.required?.includes(name) ?? false,
    ...(description === undefined ? {} : { description }),
    schema,
  }));
  const inHeader = Object.entries(described.headers ?? {}).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

/** The subject of a call, from its path: `/v1/dead-letters/{id}/replay` -> `Dead letters`. */
function tagOf({ path }: Operation): string {
  const [subject = '', ...rest] = path.split('/').filter((word) => word !== '' && word !== 'v1');
  // /healthz, /openapi.json: about the service itself.
  if (rest.length === 0 && !path.startsWith('/v1/')) return 'Service';
  return subject.charAt(0).toUpperCase() + subject.slice(1).replaceAll('-', ' ');
}

/** `post /v1/sessions/{id}/cancel` -> `postSessionsIdCancel` */
function operationId({ method, path }: Operation): string {
  const words = path.split(/[^a-zA-Z0-9]+/).filter((word) => word !== '' && word !== 'v1');
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function reference(schema: z.ZodType): Json {
  const name = components.get(schema)?.id;
  if (name === undefined) throw new Error('a schema of the API has no name: wrap it in component()');
  return { $ref: `${COMPONENTS}${name}` };
}

const COMPONENTS = '#/components/schemas/';

/** `input`: clients must tolerate new fields, and may leave out fields with a default. */
const HOW = {
  io: 'input',
  unrepresentable: 'any',
  // zod's pattern of a date-time is half a page long, and `format` says the same.
  override: ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) => {
    // A number in a query: its text has a pattern, the number has none.
    if (jsonSchema.format === 'date-time' || jsonSchema.type === 'integer') delete jsonSchema.pattern;
  },
} as const;

function componentSchemas(): Json {
  const { schemas } = z.toJSONSchema(components, { ...HOW, uri: (id) => `${COMPONENTS}${id}` });
  return Object.fromEntries(
    Object.entries(schemas)
      .map(([name, { $schema: _dialect, $id: _id, id: _name, ...schema }]) => [name, schema] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

interface Inlined {
  readonly properties?: Readonly<Record<string, { readonly description?: string }>>;
  readonly required?: readonly string[];
}

function inlined(schema: z.ZodType): Inlined {
  return z.toJSONSchema(schema, HOW) as Inlined;
}

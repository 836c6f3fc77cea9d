import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { apiCall } from '../../testing/api-call.ts';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../../testing/ingress.ts';

let database: TestDatabase;
let ingress: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: { secret: 's3cret', agents: { default: {} }, routes: { hook: {} } },
  });
});

afterAll(async () => {
  await ingress?.close();
  await database?.drop();
});

async function served() {
  const { status, body } = await apiCall(ingress, '/openapi.json', { token: null });
  expect(status).toBe(200);
  return body as { openapi: string; paths: Record<string, Record<string, unknown>> };
}

it('is a valid OpenAPI 3.1 document that anybody can read', async () => {
  const document = await served();
  expect(document.openapi).toBe('3.1.0');
  const result = await new Validator().validate(structuredClone(document));
  expect(result).toMatchObject({ valid: true });
});

it('names exactly the routes of the server', async () => {
  const { paths } = await served();
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  const routes = ingress.served
    // Fastify and Nest add these two themselves. Only webhooks have an OPTIONS of their own.
    .filter(({ method, path }) => method !== 'head' && (method !== 'options' || path.startsWith('/webhooks')))
    // Files and pages of the console are no calls.
    .filter(({ path }) => path !== '/console/*')
    .map(({ method, path }) => `${method} ${path.replace(/:([a-zA-Z]+)/g, '{$1}')}`);
  expect([...new Set(routes)].sort()).toEqual(documented.sort());
});

it('describes what an http target receives', async () => {
  const document = (await served()) as unknown as {
    webhooks: {
      output: { post: { requestBody: { content: Record<string, { schema: { $ref: string } }> } } };
    };
    components: { schemas: Record<string, { required: string[] }> };
  };
  const { schema } = document.webhooks.output.post.requestBody.content['application/json'] ?? {};
  const name = schema?.$ref.split('/').at(-1) ?? '';
  expect(document.components.schemas[name]?.required).toEqual([
    'type',
    'session_id',
    'delivery_id',
    'route',
    'text',
    'version',
    'possible_duplicate',
  ]);
});

it('has every schema that it refers to', async () => {
  const text = JSON.stringify(await served());
  const { components } = JSON.parse(text) as { components: { schemas: Record<string, unknown> } };
  const referred = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
  expect(referred.length).toBeGreaterThan(20);
  for (const name of referred) expect(components.schemas).toHaveProperty(name as string);
});

it('describes the answers that are given, also of health', async () => {
  for (const path of ['/healthz', '/health', '/readyz']) {
    expect((await apiCall(ingress, path, { token: null })).status).toBe(200);
  }
});

interface Described {
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: { readonly type?: string; readonly pattern?: string };
  }[];
  readonly responses: Readonly<Record<string, object>>;
  readonly security: readonly object[];
}

/** Every call of the document. */
async function describedCalls() {
  const { paths } = await served();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, ...(described as Described) })),
  );
}

/** An address of this path, whose parameters name nothing. */
const addressOf = (path: string) => `${ingress.baseUrl}${path.replace(/\{[^{}]+\}/g, 'x')}`;
const withToken = { authorization: `Bearer ${ADMIN_TOKEN}` };

it('has numbers as numbers', async () => {
  const parameters = (await describedCalls()).flatMap((call) => call.parameters ?? []);
  const schemasOf = (wanted: string) =>
    parameters.filter(({ name }) => name === wanted).map(({ schema }) => schema);
  expect(new Set(schemasOf('limit').map((schema) => JSON.stringify(schema))).size).toBe(1);
  expect(schemasOf('limit')[0]).toEqual({ type: 'integer', minimum: 1, maximum: 200 });
  expect(schemasOf('offset')).toEqual([{ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }]);
  expect(schemasOf('bytes')).toEqual([{ type: 'integer', minimum: 1, maximum: 131_072 }]);
  // A text that is only digits would be a number. A cursor is opaque, whatever it looks like.
  const digits = parameters.filter(({ schema }) => /^\^\[0-9\]\S*\$$/.test(schema.pattern ?? ''));
  expect(new Set(digits.map(({ name }) => name))).toEqual(new Set(['cursor']));
});

it('still takes a number in a query as its text, and refuses what is out of its bounds', async () => {
  expect((await apiCall(ingress, '/v1/sessions?limit=200')).status).toBe(200);
  for (const wrong of ['0', '201', '-1', '1.5', '1e2', 'x', '']) {
    const { status, body } = await apiCall(ingress, `/v1/sessions?limit=${wrong}`);
    expect([wrong, status, body.error]).toEqual([
      wrong,
      400,
      'query parameter `limit`: give a number from 1 to 200',
    ]);
  }
});

it('has a tag for every call, and each of them once', async () => {
  const { tags } = (await served()) as unknown as { tags: { name: string }[] };
  const names = tags.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const used = (await describedCalls()).map(({ path, tags: own }) => [path, own] as const);
  for (const [path, own] of used) expect([path, own]).toEqual([path, [expect.any(String)]]);
  expect(new Set(used.flatMap(([, own]) => own ?? []))).toEqual(new Set(names));
  expect(Object.fromEntries(used)).toMatchObject({
    '/healthz': ['Service'],
    '/webhooks/{route}': ['Webhooks'],
    '/v1/sessions/{id}/messages': ['Sessions'],
    '/v1/dead-letters/{id}/replay': ['Dead letters'],
  });
});

const patternOf = (path: string) => new RegExp(`^${path.replace(/\{[^{}]+\}/g, '[^/]+')}$`);

it('has 405 for a wrong method of every address, with the methods that it takes', async () => {
  const { paths } = await served();
  for (const [path, methods] of Object.entries(paths)) {
    const answered = await fetch(`${addressOf(path)}?a=b`, { method: 'PATCH', headers: withToken });
    expect([path, answered.status, await answered.json()]).toEqual([
      path,
      405,
      { error: expect.stringContaining('`Allow`') },
    ]);
    // `/v1/routes/preview` is also the address of a route with this name.
    const sameAddress = Object.keys(paths).filter((other) => patternOf(other).test(path));
    const allowed = sameAddress
      .flatMap((other) => Object.keys(paths[other] ?? {}))
      .map((method) => method.toUpperCase());
    const expected = [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
    expect([path, answered.headers.get('allow')]).toEqual([path, expected]);
    for (const described of Object.values(methods) as Described[]) {
      expect([path, Object.keys(described.responses)]).toEqual([path, expect.arrayContaining(['405'])]);
    }
  }
  const nowhere = await fetch(`${ingress.baseUrl}/nowhere`, { method: 'PATCH' });
  expect([nowhere.status, nowhere.headers.get('allow')]).toEqual([404, null]);
});

it('without the token nobody learns which addresses and methods there are under /v1', async () => {
  const asked = async (path: string) => {
    const { status, headers } = await fetch(`${ingress.baseUrl}${path}`, { method: 'PATCH' });
    return [status, headers.get('allow')];
  };
  for (const path of ['/v1/sessions', '/v1/routes/hook', '/v1/nothing']) {
    expect([path, await asked(path)]).toEqual([path, [401, null]]);
  }
  // Written differently, these are no addresses of ours.
  for (const path of ['/%761/sessions', '//v1/sessions', '/V1/sessions']) {
    expect([path, await asked(path)]).toEqual([path, [404, null]]);
  }
});

it('has 415 wherever a body can come, and that is what comes', async () => {
  const calls = (await describedCalls()).filter(({ method }) => ['post', 'put', 'delete'].includes(method));
  expect(calls.length).toBeGreaterThan(10);
  for (const { path, method, responses, security } of calls) {
    expect([path, Object.keys(responses)]).toEqual([path, expect.arrayContaining(['400', '413', '415'])]);
    // Webhooks and links are refused for their signature first.
    if (security.length === 0) continue;
    const { status } = await fetch(addressOf(path), {
      method: method.toUpperCase(),
      headers: { ...withToken, 'content-type': 'application/xml' },
      body: '<x/>',
    });
    expect([method, path, status]).toEqual([method, path, 415]);
  }
});

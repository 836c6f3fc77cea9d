import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';

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

import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SERVICES } from '@angelia/local';
import { eventually, startTestStack, TEST_SECRET, type TestStack } from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { ViewsObserver } from './views.ts';

// What a stack at rest does not hold: code that its config does not ask for, and connections that nobody uses.

const RECORD_LOADED = join(import.meta.dirname, 'at-rest/record-loaded.cjs');

/** 7 MB of Node that only a connection with TLS or HTTP/2 needs. */
const LAZY_BUILTINS = ['node:tls', 'node:_tls_wrap', 'node:https', 'node:http2'];
/** Telemetry without an endpoint, providers without a model, MCP without servers. The two exceptions are tiny. */
const LAZY_PACKAGES = /^(@opentelemetry\/(?!api$)|@ai-sdk\/(?!provider$)|ai$|@modelcontextprotocol\/)/;

let directory: string;
let stack: TestStack;
let observer: ViewsObserver;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'angelia-loaded-'));
  stack = await startTestStack({
    // As the demo config: an echo model, and a route that answers to the log.
    config: stringify({
      secret: TEST_SECRET,
      limits: { rate_limit: 0 },
      models: { echo: { provider: 'builtin', model: 'echo' } },
      agents: { default: { model: 'echo' } },
      routes: { hook: { prompt: '{text}', deliver: 'log' } },
    }),
    env: { NODE_OPTIONS: `--require ${RECORD_LOADED}`, ANGELIA_TEST_LOADED: directory },
  });
  observer = await ViewsObserver.connect(stack.postgresUrl);
});
afterAll(async () => {
  await observer?.close();
  await stack?.stop();
  await rm(directory, { recursive: true, force: true });
});

it('the services have at most 12 connections to Postgres, also after a load', async () => {
  const posts = Array.from({ length: 100 }, (_, n) => stack.post({ body: { text: `hello ${n}` } }));
  for (const { status } of await Promise.all(posts)) expect(status).toBe(202);
  await eventually(async () => {
    const open = await observer.query<{ application_name: string }>(
      'SELECT application_name FROM pg_stat_activity WHERE application_name = ANY($1)',
      [SERVICES],
    );
    const instances = new Set(open.map((row) => row.application_name));
    return instances.size === SERVICES.length && open.length <= 12;
  });
});

it.each([...SERVICES])('%s has not loaded what its config does not ask for', async (service) => {
  process.kill(stack.pid(service), 'SIGUSR2');
  const file = join(directory, `${service}.js`);
  await eventually(() => existsSync(file));
  const loaded = (await readFile(file, 'utf8')).split('\n');
  expect(loaded).toContain('node:net');
  expect(loaded.filter((name) => LAZY_BUILTINS.includes(name))).toEqual([]);
  const packages = await packagesIn(loaded.filter((name) => name.startsWith('file:')));
  expect(packages).toContain('pg');
  expect([...packages].filter((name) => LAZY_PACKAGES.test(name))).toEqual([]);
});

/** The packages whose code is in these files: by the path of a file of its own, or by the source map of a bundle. */
async function packagesIn(urls: readonly string[]): Promise<Set<string>> {
  const sources = await Promise.all(
    urls.map(async (url) => {
      const map = `${fileURLToPath(url)}.map`;
      return existsSync(map)
        ? (JSON.parse(await readFile(map, 'utf8')) as { sources: string[] }).sources
        : [url];
    }),
  );
  const names = sources.flat().map((source) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1]);
  return new Set(names.filter((name) => name !== undefined));
}

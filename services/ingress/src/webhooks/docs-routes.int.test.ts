import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '@angelia/config';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { ADMIN_TOKEN, startIngress, type TestIngress } from '../testing/ingress.ts';

const page = readFileSync(new URL('../../../../docs/routes.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/<!-- example -->\n\n```(yaml|sh)\n(.*?)```/gs)];
const examples = (language: string) =>
  blocks.filter(([, one]) => one === language).map(([, , text]) => text as string);
const webhooks = examples('sh')
  .filter((text) => text.includes('/webhooks/') && !text.includes('/v1/'))
  .map((text) => [/\/webhooks\/([a-z-]+)/.exec(text)?.[1] ?? '', text] as const);

let database: TestDatabase;
let ingress: TestIngress;
let directory: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const config: Record<string, Record<string, unknown>> = {};
  for (const text of examples('yaml')) {
    for (const [key, value] of Object.entries(parse(text) as Record<string, object>)) {
      config[key] = { ...config[key], ...value };
    }
  }
  directory = mkdtempSync(join(tmpdir(), 'angelia-docs-'));
  writeFileSync(join(directory, 'angelia.yaml'), stringify(config));
  ingress = await startIngress({
    databaseUrl: database.url,
    config,
    env: { ANGELIA_MASTER_KEY: randomBytes(32).toString('base64') },
  });
  mkdirSync(join(directory, '.angelia'));
  writeFileSync(join(directory, '.angelia', 'admin-token'), ADMIN_TOKEN);
});

afterAll(async () => {
  await ingress?.close();
  await database?.drop();
  if (directory) rmSync(directory, { recursive: true });
});

/** Runs it as a reader would, in the directory of `npm start`. */
async function pasted(text: string): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-ec', text.replaceAll('http://127.0.0.1:8644', ingress.baseUrl)],
    { cwd: directory },
  );
  return JSON.parse(stdout) as Record<string, unknown>;
}

function has(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A reader of the page needs these programs; a machine that only runs Angelia does not. */
const canPaste = ['bash', 'curl', 'openssl'].every(has);

(canPaste ? describe : describe.skip)('an example of docs/routes.md', () => {
  it('exists for each provider', () => {
    expect(webhooks.map(([route]) => route)).toEqual([
      'github-pr',
      'gitlab-mr',
      'stripe',
      'slack',
      'alerts',
      'shop-events',
      'orders',
      'deploys',
    ]);
  });

  it.each(webhooks)('%s is accepted when it is pasted', async (route, text) => {
    expect(await pasted(text)).toMatchObject({ status: 'accepted', route, session_id: expect.any(String) });
  });

  it.each(examples('sh').filter((text) => text.includes('/v1/')))(
    'works when it is pasted: %s',
    async (text) => {
      const answer = await pasted(text);
      expect(answer).not.toHaveProperty('error');
      expect(answer).toHaveProperty(text.includes('PUT') ? 'secret' : 'items');
    },
  );
});

describe('docs/routes.md', () => {
  it('has examples that work unchanged, together in one file', () => {
    const { config } = loadConfig({ ANGELIA_CONFIG: join(directory, 'angelia.yaml') });
    expect(Object.keys(config.routes)).toHaveLength(webhooks.length);
  });

  it('has a row for every key of a route', async () => {
    const { routeSchema } = await import('@angelia/contracts');
    const table = page.slice(page.indexOf('## Every key'), page.indexOf('### Once'));
    const documented = [...table.matchAll(/^\| `([a-z_]+)`/gm)].map(([, key]) => key as string);
    expect(documented.sort()).toEqual(Object.keys(routeSchema.shape).sort());
  });

  it('has a row for every scheme and every filter', async () => {
    const { authSchemes, fieldOperators, groupOperators } = await import('@angelia/contracts');
    const table = page.slice(page.indexOf('## Who may send'), page.indexOf('## Filters'));
    const named = [...table.matchAll(/^\| `([a-z-]+)` /gm)].map(([, name]) => name as string);
    expect(named.sort()).toEqual([...authSchemes].sort());
    const filters = page.slice(page.indexOf('## Filters'), page.indexOf('## Templates'));
    for (const operator of [...fieldOperators, ...groupOperators])
      expect(filters).toContain(`\`${operator}\``);
  });
});

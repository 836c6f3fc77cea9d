import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { ConfigProblem } from '../validate.ts';
import { configSchemaText, parseConfig } from './config.ts';

function configOf(raw: unknown) {
  const parsed = parseConfig(raw);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.config;
}

function problemsOf(raw: unknown): ConfigProblem[] {
  const parsed = parseConfig(raw);
  return parsed.ok ? [] : parsed.problems;
}

describe('defaults of the config (INTERFACES.md, "Config file")', () => {
  it('are filled in at the top level', () => {
    expect(configOf({})).toEqual({
      limits: {
        max_body_bytes: 1_048_576,
        max_unauthenticated_bytes: 67_108_864,
        max_unauthenticated_bytes_per_address: 33_554_432,
        min_body_bytes_per_second: 1024,
        max_connections: 4096,
        trusted_proxies: [],
        rate_limit: 0,
        script_timeout_seconds: 5,
      },
      models: {},
      agents: {},
      mcp_servers: {},
      targets: {},
      delivery: {
        retry_schedule_seconds: [5, 30, 120, 600, 3600],
        max_age_seconds: 86_400,
        request_timeout_seconds: 30,
      },
      retention: { sessions_days: 90, delivery_ids_days: 7, export: false },
      directories: { scripts: './scripts', skills: './skills', exports: './exports' },
      process_watcher: {
        run_as: 'auto',
        network: 'host',
        read_paths: [],
        write_paths: [],
        environment: {},
        max_processes: 512,
        output_bytes: 4_194_304,
        max_lifetime_seconds: 86_400,
        max_idle_seconds: 0,
        cpu_seconds: 0,
        memory_bytes: 0,
        session_memory_bytes: 3_221_225_472,
        file_bytes: 4_294_967_296,
        max_user_processes: 1024,
        keep_hours: 72,
        host_lease_seconds: 120,
      },
      api_routes: { allowed_toolsets: ['clarify'] },
      timing: { lease_seconds: 20, sweep_seconds: 10, lead_seconds: 5, prune_seconds: 3600 },
      nats: { replicas: 1 },
      routes: {},
      chats: {},
    });
  });

  it('are filled in for an agent', () => {
    expect(configOf({ agents: { default: { model: 'main' } } }).agents.default).toMatchObject({
      kind: 'llm',
      fallback_models: [],
      toolsets: [],
      max_steps: 40,
      timeout_seconds: 1800,
      budget: { max_tokens: 200_000 },
      resume: { freshness_seconds: 3600, max_attempts: 3, max_interruption_seconds: 86_400 },
      clarify: { timeout_seconds: 3600, on_timeout: 'end' },
      processes: { max_wait_seconds: 86_400, max_per_session: 16 },
      max_concurrency: 64,
      status_interval_seconds: 180,
    });
  });

  it('are filled in for a model', () => {
    const model = { provider: 'anthropic', model: 'm', api_key: 'k' };
    expect(configOf({ models: { main: model } }).models.main).toEqual({
      ...model,
      timeout_seconds: 600,
      stall_seconds: 90,
      context_tokens: 128_000,
      images: false,
      streaming: true,
    });
  });

  it('are filled in for a route', () => {
    expect(configOf({ routes: { r: {} } }).routes.r).toMatchObject({
      enabled: true,
      agent: 'default',
      deliver: 'log',
      deliver_extra: {},
      deliver_only: false,
      interim: 'message',
      dedupe_window_seconds: 600,
      events: [],
    });
  });

  it('are filled in for the missing keys of a section', () => {
    expect(configOf({ timing: { lease_seconds: 2 } }).timing).toEqual({
      lease_seconds: 2,
      sweep_seconds: 10,
      lead_seconds: 5,
      prune_seconds: 3600,
    });
  });

  it('are enough for an empty file', () => {
    expect(parseConfig(null).ok).toBe(true);
  });
});

describe('what the config refuses', () => {
  it.each([
    [{ limitz: {} }, 'limitz'],
    [{ limits: { max_body: 1 } }, 'limits.max_body'],
    [{ agents: { default: { resume: { fresh: 1 } } } }, 'agents.default.resume.fresh'],
    [{ routes: { 'github-pr': { promt: 'x' } } }, 'routes.github-pr.promt'],
    [{ models: { main: { provider: 'builtin', model: 'echo', key: 'x' } } }, 'models.main.key'],
  ])('names the place of an unknown key: %j', (raw, place) => {
    const unknown = `unknown key \`${place.split('.').at(-1)}\``;
    expect(problemsOf(raw)).toEqual([{ place, reason: expect.stringContaining(unknown) }]);
  });

  it('names every unknown key, not only the first', () => {
    expect(problemsOf({ a: 1, routes: { r: { b: 2 } } }).map((problem) => problem.place)).toEqual([
      'routes.r.b',
      'a',
    ]);
  });

  it.each([
    ['cron_job', 'cron'],
    ['profile', 'agent'],
    ['mirror_to_session', 'session_key'],
  ])('says what to do instead of the Hermes route key %s', (key, instead) => {
    const [problem] = problemsOf({ routes: { r: { [key]: true } } });
    expect(problem?.place).toBe(`routes.r.${key}`);
    expect(problem?.reason).toContain(instead);
    expect(problem?.reason).not.toContain('unknown key');
  });

  it('mentions Hermes only for routes', () => {
    expect(problemsOf({ profile: 'x' })[0]?.reason).toBe('unknown key `profile`');
  });

  it('a retention of delivery ids below 7 days (one-delivery-one-session)', () => {
    expect(problemsOf({ retention: { delivery_ids_days: 1 } })[0]).toEqual({
      place: 'retention.delivery_ids_days',
      reason: 'delivery ids are kept for at least 7 days. Use 7 or more.',
    });
  });

  it('names a value of the wrong type by its place', () => {
    expect(problemsOf({ limits: { max_body_bytes: 'many' } })[0]?.place).toBe('limits.max_body_bytes');
  });

  it('has a budget for thoughts only where the provider has one', () => {
    const model = { base_url: 'http://127.0.0.1:1/v1', model: 'm', reasoning: { budget_tokens: 2048 } };
    const places = (provider: string) =>
      problemsOf({ models: { main: { ...model, provider } } }).map(({ place }) => place);
    expect(places('anthropic')).toEqual([]);
    expect(places('openai')).toEqual(['models.main.reasoning.budget_tokens']);
    expect(places('openai-compatible')).toEqual(['models.main.reasoning.budget_tokens']);
  });

  it.each(['openai', 'anthropic'])('needs an api_key for %s, unless another server is named', (provider) => {
    const model = { provider, model: 'm' };
    expect(problemsOf({ models: { main: model } })).toEqual([
      {
        place: 'models.main.api_key',
        reason: 'the value is missing. Set `api_key`, or the `base_url` of a server that needs none.',
      },
    ]);
    expect(problemsOf({ models: { main: { ...model, api_key: 'k' } } })).toEqual([]);
    expect(problemsOf({ models: { main: { ...model, base_url: 'http://127.0.0.1:1/v1' } } })).toEqual([]);
  });

  it('credentials and a query in the base_url of a model', () => {
    const model = { provider: 'openai-compatible', model: 'm' };
    for (const base_url of [
      'http://me:secret@x/v1',
      'http://me@x/v1',
      'http://x/v1?key=secret',
      'http://x/v1#a',
    ]) {
      const [problem, ...more] = problemsOf({ models: { m: { ...model, base_url } } });
      expect([problem?.place, more]).toEqual(['models.m.base_url', []]);
      expect(problem?.reason).not.toContain('secret');
    }
    expect(problemsOf({ models: { m: { ...model, base_url: 'nowhere' } } })).toEqual([
      {
        place: 'models.m.base_url',
        reason: 'this is not an http or https URL. Write one such as https://example.com.',
      },
    ]);
  });

  it('an openai-compatible model without a base_url', () => {
    expect(problemsOf({ models: { m: { provider: 'openai-compatible', model: 'x' } } })[0]?.place).toBe(
      'models.m.base_url',
    );
  });
});

it('mail addresses and logins are the same however they are written; other ids are not', () => {
  const speakers = { users: ['Ada@Example.com', 7], chats: ['Team@Example.com'] };
  const { chats, agents } = configOf({
    agents: { default: { tools: { approvers: ['email:Ada@Example.com', 'slack:U1'] } } },
    chats: {
      mail: { platform: 'email', speakers },
      code: { platform: 'github_comment', webhook_secret: 'a-secret', bot_name: 'a-bot', speakers },
      team: { platform: 'slack', speakers },
    },
  });
  expect(chats.mail?.speakers).toMatchObject({
    users: ['ada@example.com', '7'],
    chats: ['team@example.com'],
  });
  expect(chats.code?.speakers).toMatchObject({
    users: ['ada@example.com', '7'],
    chats: ['Team@Example.com'],
  });
  expect(chats.team?.speakers).toMatchObject({
    users: ['Ada@Example.com', '7'],
    chats: ['Team@Example.com'],
  });
  const { default: agent } = agents;
  expect(agent?.kind === 'llm' && agent.tools?.approvers).toEqual(['email:ada@example.com', 'slack:U1']);
});

describe('the JSON Schema for editors', () => {
  it('is up to date (if not: node libs/contracts/src/commands/write-schema.ts)', () => {
    expect(readFileSync(new URL('../../angelia.schema.json', import.meta.url), 'utf8')).toBe(
      configSchemaText(),
    );
  });

  it('refuses unknown keys and shows defaults', () => {
    const schema = JSON.parse(configSchemaText());
    expect(schema.additionalProperties).toBe(false);
    expect(schema.properties.limits.properties.max_body_bytes.default).toBe(1_048_576);
  });
});

describe('an MCP server', () => {
  const problems = (server: object) =>
    problemsOf({ mcp_servers: { m: server } }).map(({ place, reason }) => `${place}: ${reason}`);

  it('is a program or a URL', () => {
    const config = configOf({
      mcp_servers: {
        files: { command: 'npx', args: ['-y', 'x'], env: { A: 'b' }, cwd: '/srv' },
        search: { url: 'https://example.com/mcp', headers: { Authorization: 'x' }, timeout_seconds: 5 },
      },
    });
    expect(config.mcp_servers.files?.timeout_seconds).toBe(120);
    expect(config.mcp_servers.search?.timeout_seconds).toBe(5);
  });

  it('is refused by name where it is neither, both, or has keys of the other', () => {
    const either =
      'mcp_servers.m: an MCP server has either a `command` (stdio) or a `url` (streamable HTTP). Set one of them.';
    expect(problems({})).toEqual([either]);
    expect(problems({ command: 'x', url: 'https://example.com' })).toEqual([either]);
    expect(problems({ command: 'x', headers: {} })).toEqual([
      'mcp_servers.m.headers: this key needs `url`, which this server does not have. Remove it.',
    ]);
    expect(problems({ url: 'https://example.com', args: [], cwd: '/' })).toEqual([
      'mcp_servers.m.args: this key needs `command`, which this server does not have. Remove it.',
      'mcp_servers.m.cwd: this key needs `command`, which this server does not have. Remove it.',
    ]);
    expect(problems({ command: 'x', transport: 'stdio' })[0]).toContain('unknown key `transport`');
    expect(problems({ url: 'ftp://example.com' })[0]).toContain('mcp_servers.m.url');
  });
});

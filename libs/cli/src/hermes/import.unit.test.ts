import { parseConfigText } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { type HermesFiles, HermesUnreadable, type Imported, importHermes } from './import.ts';
import { renderImport } from './render.ts';

const SECRETS = {
  global: 'a-secret-for-all-routes',
  github: 'the-secret-of-github',
  subscribed: 'kT9-made-by-subscribe',
  telegram: '424242:telegram-bot-token',
  model: 'sk-or-the-model-key',
  proxy: 'a-key-written-into-the-config',
};

const ENV = `
# written by hermes setup
TELEGRAM_BOT_TOKEN=${SECRETS.telegram}
TELEGRAM_HOME_CHANNEL=-1001   # the ops group
export OPENROUTER_API_KEY="${SECRETS.model}"
`;

const routes = (given: Record<string, unknown>): string => stringify(hermes(given));

function hermes(given: Record<string, unknown>, webhook: object = {}, rest: object = {}): object {
  return {
    model: { default: 'nous/some-model', provider: 'openrouter' },
    platforms: { webhook: { enabled: true, extra: { secret: SECRETS.global, ...webhook, routes: given } } },
    ...rest,
  };
}

/** Loads the result with our own loader, as the services do, and with the imported variables. */
function loaded({ yaml, environment }: Imported): Config {
  const env = Object.fromEntries(environment.map(({ name, value }) => [name, value ?? 'filled-in-by-hand']));
  return parseConfigText(yaml, env, 'angelia.yaml');
}

function imported(configText: string, more: Partial<HermesFiles> = {}): Imported & { config: Config } {
  const made = importHermes({ configText, envText: ENV, ...more });
  return { ...made, config: loaded(made) };
}

const about = ({ notes }: Imported, words: string) =>
  notes.filter(({ place, what }) => `${place} ${what}`.includes(words)).map(({ todo }) => todo);

describe('a config of Hermes', () => {
  const whole = imported(
    stringify(
      hermes(
        {
          'github-pr': {
            events: ['pull_request'],
            secret: SECRETS.github,
            prompt: 'Review #{number}: {pull_request.title}\n{__raw__}',
            skills: ['code-review'],
            filters: [{ field: 'action', in: ['opened', 'synchronize'] }],
            deliver: 'github_comment',
            deliver_extra: { repo: '{repository.full_name}', pr_number: '{number}' },
          },
          alerts: {
            prompt: 'Alert: {detail}',
            deliver: 'telegram',
            deliver_extra: { chat_id: '-1009', thread_id: 42 },
            deliver_only: true,
            skills: ['ignored-by-hermes'],
          },
          home: { deliver: 'telegram', toolsets: ['terminal', 'file'] },
        },
        { rate_limit: 60, max_body_bytes: 2_097_152, port: 9000 },
        {
          fallback_providers: [
            {
              provider: 'custom',
              model: 'local',
              base_url: 'http://localhost:8092/v1',
              key_env: 'LOCAL_KEY',
              context_length: 32_768,
            },
            { provider: 'my-proxy', model: 'big' },
            { provider: 'openai-codex', model: 'codex' },
          ],
          providers: {
            'my-proxy': {
              base_url: 'https://llm.example.com/v1',
              api_key: SECRETS.proxy,
              extra_headers: { 'X-Team': 'ops' },
            },
          },
          agent: { max_turns: 25, system_prompt: 'You are terse.' },
          mcp_servers: {
            Search: {
              command: 'search-mcp',
              args: ['--fast'],
              env: { SEARCH_API_KEY: 'search-key', MODE: 'x' },
            },
          },
          memory: { enabled: true },
        },
      ),
    ),
  );

  it('becomes a config that our own loader accepts', () => {
    expect(whole.config).toMatchObject({
      secret: SECRETS.global,
      limits: { rate_limit: 60, max_body_bytes: 2_097_152 },
      directories: { skills: '~/.hermes/skills' },
      targets: { telegram: { bot_token: SECRETS.telegram, chat_id: '-1001' } },
      routes: {
        'github-pr': {
          ...{ enabled: true, secret: SECRETS.github, events: ['pull_request'], skills: ['code-review'] },
          ...{
            deliver: 'github_comment',
            deliver_extra: { repo: '{repository.full_name}', pr_number: '{number}' },
          },
          filters: [{ field: 'action', in: ['opened', 'synchronize'] }],
          prompt: 'Review #{number}: {pull_request.title}\n{__raw__}',
        },
        alerts: {
          enabled: true,
          deliver_only: true,
          deliver_extra: { chat_id: '-1009', message_thread_id: 42 },
          skills: [],
        },
      },
    });
  });

  it('keeps the order of its models, and names those that it could not import', () => {
    expect(whole.config.models).toMatchObject({
      main: {
        provider: 'openai-compatible',
        base_url: 'https://openrouter.ai/api/v1',
        model: 'nous/some-model',
        api_key: SECRETS.model,
      },
      custom: { base_url: 'http://localhost:8092/v1', model: 'local', context_tokens: 32_768 },
      'my-proxy': {
        base_url: 'https://llm.example.com/v1',
        api_key: SECRETS.proxy,
        headers: { 'X-Team': 'ops' },
      },
    });
    expect(whole.config.agents.default).toMatchObject({
      ...{ model: 'main', fallback_models: ['custom', 'my-proxy'], max_steps: 25, system: 'You are terse.' },
    });
    expect(about(whole, 'openai-codex')).toHaveLength(1);
  });

  it('gives the tools of a trusted route to no other route', () => {
    expect(whole.config.agents.default).toMatchObject({ toolsets: ['clarify'] });
    expect(whole.config.agents.trusted).toMatchObject({ toolsets: ['terminal'] });
    expect(whole.config.routes.home).toMatchObject({ agent: 'trusted', toolsets: ['terminal'] });
    expect(about(whole, 'no toolset file')).toHaveLength(1);
  });

  it('keeps secrets in the environment only', () => {
    for (const secret of [...Object.values(SECRETS), 'search-key']) {
      if (secret !== SECRETS.subscribed) expect(whole.environmentText).toContain(secret);
      expect(whole.yaml).not.toContain(secret);
      expect(renderImport(whole).join('\n')).not.toContain(secret);
    }
    expect(whole.environment.filter(({ value }) => value === null).map(({ name }) => name)).toEqual([
      'GITHUB_TOKEN',
      'LOCAL_KEY',
    ]);
    expect(whole.environmentText).toMatch(/^GITHUB_PR_WEBHOOK_SECRET=the-secret-of-github$/m);
    expect(whole.environmentText).toMatch(/fill it in\nGITHUB_TOKEN=$/m);
  });

  it('gets notes that say what is different and what to do', () => {
    expect(about(whole, 'login of the `gh` command')).toHaveLength(1);
    expect(about(whole, 'listens on all interfaces')[0]).toContain('ANGELIA_PORT=9000');
    expect(about(whole, 'memory')).toHaveLength(1);
    expect(about(whole, 'deliver_only')).toHaveLength(1);
    expect(about(whole, 'mcp_servers.Search no agent')[0]).toContain('mcp:search');
  });
});

describe('subscriptions', () => {
  it('become routes; a route of the config hides a subscription with the same name', () => {
    const subscriptionsText = JSON.stringify({
      triage: {
        ...{
          description: 'Triage new issues',
          events: ['issues'],
          secret: SECRETS.subscribed,
          prompt: `Costs \${issue}: {issue.title}`,
        },
        ...{
          skills: [],
          deliver: 'telegram',
          profile: 'default',
          created_at: '2026-01-01T00:00:00Z',
          deliver_extra: { chat_id: '7' },
        },
      },
      fixed: { secret: 'another-secret', deliver: 'log' },
      'without-secret': { secret: '', prompt: 'x' },
    });
    const made = imported(routes({ fixed: { prompt: 'from the config' } }), { subscriptionsText });
    expect(made.config.routes.triage).toMatchObject({
      ...{
        secret: SECRETS.subscribed,
        events: ['issues'],
        deliver: 'telegram',
        deliver_extra: { chat_id: '7' },
      },
      // Hermes does not fill this in from the environment, so it is a dollar sign and a placeholder.
      prompt: `Costs \${issue}: {issue.title}`,
    });
    expect(made.yaml).toContain('# Triage new issues');
    expect(made.config.routes.fixed).toMatchObject({ prompt: 'from the config' });
    expect(made.config.routes.fixed?.secret).toBeUndefined();
    expect(made.config.routes['without-secret']).toBeUndefined();
    expect(about(made, 'hidden by the route')).toHaveLength(1);
    expect(about(made, 'has no secret')).toHaveLength(1);
  });
});

describe('what has no equivalent here', () => {
  it.each([
    ['cron_job', { cron_job: 'nightly' }],
    ['profile', { profile: 'coder' }],
    ['deliver', { deliver: 'signal' }],
    ['deliver', { deliver: 'slack' }],
    ['deliver', { deliver: 'signal', deliver_only: true }],
    ['deliver_extra.repo', { deliver: 'github_comment' }],
    ['script', { script: '../../etc/passwd' }],
    ['filters.0', { filters: [{ field: 'a', regex: '(?=look)ahead' }] }],
    ['filters.0', { filters: [{ field: 'a', missing: false }] }],
    ['filters.0', { filters: { any: [] } }],
  ])('%s switches the route off, with a note: %j', (key, given) => {
    const made = imported(routes({ hook: given }));
    expect(made.config.routes.hook?.enabled).toBe(false);
    const place = `platforms.webhook.extra.routes.hook.${key}`;
    expect(made.notes.filter((note) => note.place === place)).toEqual([
      expect.objectContaining({ todo: expect.stringContaining('enabled: false') }),
    ]);
  });

  it('a prompt that is not a text gets a note: the agent gets the payload instead', () => {
    const made = imported(routes({ hook: { prompt: 3 } }));
    expect(made.config.routes.hook).toMatchObject({ prompt: '' });
    expect(about(made, 'hook.prompt')[0]).toContain('write a new prompt');
    expect(about(imported(routes({ hook: {} })), 'hook.prompt')).toEqual([]);
  });

  it('a route that is open to anybody gets a note: ingress starts with it on loopback only', () => {
    const made = imported(routes({ hook: { secret: 'INSECURE_NO_AUTH' } }));
    expect(made.config.routes.hook).toMatchObject({ secret: 'INSECURE_NO_AUTH' });
    expect(about(made, 'hook.secret')[0]).toContain('ANGELIA_HOST');
    expect(about(imported(routes({ hook: {} })), 'hook.secret')).toEqual([]);
  });

  it('mirror_to_session gets a note that says what to do instead, and the route stays on', () => {
    const made = imported(routes({ hook: { mirror_to_session: true } }));
    expect(made.config.routes.hook?.enabled).toBe(true);
    expect(about(made, 'mirror_to_session')[0]).toContain('session_key');
  });

  it('a model with its own login switches routes with agents off and leaves the others on', () => {
    const configText = stringify({
      ...hermes({ a: {}, b: { deliver: 'telegram', deliver_only: true, prompt: 'x' } }),
      model: { provider: 'nous', default: 'm' },
    });
    const made = imported(configText, { envText: `TELEGRAM_BOT_TOKEN=1:a\nTELEGRAM_HOME_CHANNEL=5` });
    expect(made.routes).toEqual([
      { name: 'a', enabled: false },
      { name: 'b', enabled: true },
    ]);
  });

  it('an address that our target refuses is left out, with a note', () => {
    const envText =
      'MATTERMOST_URL=https://mm.example.com\nMATTERMOST_TOKEN=mm-token-1\nMATTERMOST_HOME_CHANNEL=town-square';
    const made = imported(routes({ hook: { deliver: 'mattermost' } }), { envText });
    expect(made.config.targets.mattermost).toEqual({
      api_base: 'https://mm.example.com',
      token: 'mm-token-1',
    });
    expect(about(made, 'targets.mattermost.channel_id')).toHaveLength(1);
    expect(made.config.routes.hook).toMatchObject({ enabled: false, deliver: 'log' });
  });
});

describe('what means the same', () => {
  it('a route without a prompt gets an empty prompt', () => {
    expect(imported(routes({ hook: {} })).config.routes.hook?.prompt).toBe('');
  });

  it('references that Hermes fills in become variables, and others stay unchanged', () => {
    const made = imported(
      routes({ hook: { secret: `\${HOOK_SECRET}`, prompt: `in \${CITY} for \${number} and \${` } }),
      {
        envText: `${ENV}CITY=Delphi\nHOOK_SECRET=from-the-environment`,
      },
    );
    expect(made.config.routes.hook).toMatchObject({
      secret: 'from-the-environment',
      prompt: `in Delphi for \${number} and \${`,
    });
  });

  it('filters keep the operator that Hermes uses, and find files at the same place', () => {
    const made = imported(
      routes({
        hook: {
          filters: [
            { field: 'a', equals: 1, regex: 'never looked at' },
            {
              any: [
                { field: 'b', in_file: '~/.hermes/data/list.json' },
                { field: 'c', in_file: 'data/other.txt' },
              ],
            },
            { all: [] },
            { not: { field: 'headers.X-Kind', exists: 1 } },
          ],
        },
      }),
      { hermesHome: '/srv/hermes/' },
    );
    expect(made.config.routes.hook).toMatchObject({
      enabled: true,
      filters: [
        { field: 'a', equals: 1 },
        {
          any: [
            { field: 'b', in_file: '/srv/hermes/data/list.json' },
            { field: 'c', in_file: '/srv/hermes/data/other.txt' },
          ],
        },
        { not: { field: 'headers.X-Kind', exists: true } },
      ],
    });
    expect(about(made, '`regex` beside `equals`')).toHaveLength(1);
  });

  it('scripts stay where they are, with the same time limit', () => {
    const made = imported(
      routes({ hook: { script: '~/.hermes/scripts/sub/triage.py', retry_on_script_failure: true } }),
    );
    expect(made.config.routes.hook).toMatchObject({ script: 'sub/triage.py', retry_on_script_failure: true });
    expect(made.config).toMatchObject({
      directories: { scripts: '~/.hermes/scripts' },
      limits: { script_timeout_seconds: 30 },
    });
    expect(about(made, 'started directly')[0]).toContain('chmod +x');
  });

  it('a path without braces as the key of coalesce becomes a placeholder', () => {
    const made = imported(routes({ hook: { coalesce: { key: 'pull_request.number', window_seconds: 10 } } }));
    expect(made.config.routes.hook?.coalesce).toEqual({
      key: '{pull_request.number}',
      window_seconds: 10,
      max_wait_seconds: 300,
    });
  });

  it('an invalid name is changed, and a note says what its sender must do', () => {
    const made = imported(routes({ 'My Hook': {}, 'my-hook': {} }));
    expect(Object.keys(made.config.routes)).toEqual(['my-hook', 'my-hook-2']);
    expect(about(made, 'its name is my-hook here')[0]).toContain('/webhooks/my-hook');
  });

  it('settings of the adapter may be beside `extra` or in it, and `extra` wins', () => {
    const configText = stringify({
      ...hermes({}),
      platforms: {
        webhook: { secret: 'outer-secret', routes: { a: {} }, extra: { secret: 'inner-secret' } },
      },
    });
    expect(imported(configText).config).toMatchObject({
      secret: 'inner-secret',
      routes: { a: { enabled: true } },
    });
  });
});

it('an unreadable file gives one line that quotes nothing from the file', () => {
  expect(() => importHermes({ configText: 'a: [s3cret' })).toThrow(HermesUnreadable);
  expect(() => importHermes({ configText: 'a: [s3cret' })).not.toThrow(/s3cret/);
  expect(() => importHermes({ configText: 'just text' })).toThrow('not a YAML mapping');
  expect(() => importHermes({ configText: '', subscriptionsText: '{s3cret' })).toThrow(
    'webhook_subscriptions.json of Hermes is not valid JSON',
  );
  expect(imported('').routes).toEqual([]);
});

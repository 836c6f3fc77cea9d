// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is a variable of the config
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { loadConfig } from '@angelia/config';
import { startMattermost, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { models, senders, targets } from '../init/choices.ts';
import { composeConfig, variablesOf } from '../init/compose.ts';
import { runRecorded } from '../testing/run-recorded.ts';

let directory: string;
const stops: (() => unknown)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-init-'));
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  rmSync(directory, { recursive: true });
});

const path = (name: string) => join(directory, name);
const read = (name: string) => readFileSync(path(name), 'utf8');
const variables = () => parseEnv(read('.env')) as Record<string, string>;
const loaded = () => loadConfig({ ...variables(), ANGELIA_CONFIG: path('angelia.yaml') }).config;

const CHANNEL = '4xp9fdt77pncbef59f4k1qe83o';
const ANSWERS: Readonly<Record<string, string>> = {
  model: 'm1',
  base_url: 'http://127.0.0.1:9000/v1',
  chat_id: '-1001234567890',
  channel: 'C0123456789',
  channel_id: '1234567890123456789',
  host: 'smtp.example.com',
  user: 'bot',
  from: 'Angelia <bot@example.com>',
  to: 'team@example.com',
  api_base: 'https://chat.example.com',
  room_id: '!ops:example.com',
  url: 'https://example.com/answers',
};

describe('angelia init --yes', () => {
  it('writes a config that starts, and says what to do next', async () => {
    const run = await runRecorded(['init', '--yes'], { cwd: directory, input: '' });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    // It is not in the repository, where `npm start` looks for it.
    const config = `ANGELIA_CONFIG=${join(directory, 'angelia.yaml')}`;
    expect(run.stdout).toContain(`  ${config} npm start\n`);
    expect(run.stdout).toContain(`  ${config} ./angelia send inbox --wait`);
    expect(loaded()).toMatchObject({
      models: { main: { provider: 'builtin' } },
      routes: { inbox: { auth: 'bearer', deliver: 'log', secret: variables().INBOX_TOKEN } },
    });
    expect(variables().INBOX_TOKEN).toMatch(/^[0-9a-f]{48}$/);
    for (const name of ['angelia.yaml', '.env']) expect(statSync(path(name)).mode & 0o777).toBe(0o600);
  });

  it('takes secrets from the environment, and names those that are missing', async () => {
    const argv = ['init', '--yes', '--sender', 'github', '--model', 'openai', '--target', 'github_comment'];
    const run = await runRecorded([...argv, '--skip-check', '--json'], {
      cwd: directory,
      input: '',
      env: { OPENAI_API_KEY: 'sk-of-the-environment' },
    });
    expect(run.code).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ route: 'github-pr', missing: ['GITHUB_TOKEN'] });
    expect(run.stdout).not.toContain('sk-of-the-environment');
    expect(read('angelia.yaml')).not.toContain('sk-of-the-environment');
    expect(variables()).toMatchObject({ OPENAI_API_KEY: 'sk-of-the-environment', GITHUB_TOKEN: '' });
  });

  it('writes nothing if .env cannot hold a secret', async () => {
    const run = await runRecorded(['init', '--yes', '--skip-check'], {
      cwd: directory,
      input: '',
      env: { INBOX_TOKEN: `all'of"the\`signs-in-one-secret` },
    });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('.env cannot hold');
    expect(existsSync(path('angelia.yaml'))).toBe(false);
  });

  it('overwrites no config unless told so, and nothing that .env has', async () => {
    writeFileSync(path('angelia.yaml'), '# mine');
    writeFileSync(path('.env'), 'OTHER=1\nINBOX_TOKEN=my-own-token');
    const refused = await runRecorded(['init', '--yes'], { cwd: directory, input: '' });
    expect(refused.code).toBe(6);
    expect(read('angelia.yaml')).toBe('# mine');
    const forced = await runRecorded(['init', '--yes', '--force'], { cwd: directory, input: '' });
    expect(forced.code).toBe(0);
    expect(read('.env')).toBe('OTHER=1\nINBOX_TOKEN=my-own-token\n');
    expect(loaded().routes.inbox?.secret).toBe('my-own-token');
  });

  it.each([
    [['--target', 'github_comment'], 'needs --sender github'],
    [['--target', 'telegram'], 'give --set chat_id='],
    [['--target', 'telegram', '--set', 'chat_id=nonsense here'], 'chat_id'],
    [['--set', 'chat_id=1'], 'not a question for this choice'],
    [['--set', 'chat_id'], 'give a key and a value'],
  ])('%j is refused, and nothing is written', async (options, reason) => {
    const run = await runRecorded(['init', '--yes', '--skip-check', ...options], {
      cwd: directory,
      input: '',
    });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain(reason);
    expect(existsSync(path('angelia.yaml'))).toBe(false);
    expect(existsSync(path('.env'))).toBe(false);
  });
});

describe('angelia init at a terminal', () => {
  const TYPED_KEY = 'key-that-was-typed';
  const TOKEN = 'token-of-mattermost';

  async function dialogueWith(token: string): Promise<[prompt: string, typed: string][]> {
    const [model, mattermost] = await Promise.all([
      startModelServer({ apiKey: TYPED_KEY }),
      startMattermost({ token: TOKEN }),
    ]);
    stops.push(
      () => model.stop(),
      () => mattermost.stop(),
    );
    return [
      ['number or name [1]: ', '9'],
      ['number or name [1]: ', '1'],
      ['number or name [1]: ', 'openai-compatible'],
      ['number or name [1]: ', 'mattermost'],
      ['its base_url [http://127.0.0.1:11434/v1]: ', model.baseUrl],
      ['model: ', 'm1'],
      ['address of the server (https://...): ', mattermost.url],
      ['id of the channel: ', CHANNEL],
      ['(not shown): ', TYPED_KEY],
      ['token of the bot (not shown): ', token],
    ];
  }

  it('asks, hides secrets, asks the platforms whether they accept them, and writes', async () => {
    const run = await runRecorded(['init'], { cwd: directory, dialogue: await dialogueWith(TOKEN) });
    expect(run.stderr).toContain('there is no "9" in this list');
    expect(run.stdout).toMatch(/ok +target\.mattermost/);
    expect(run.stdout).not.toContain('FAULT');
    expect(run.code).toBe(0);
    for (const secret of [TYPED_KEY, TOKEN]) expect(run.stdout + run.stderr).not.toContain(secret);
    expect(loaded()).toMatchObject({
      models: { main: { model: 'm1', api_key: TYPED_KEY } },
      targets: { mattermost: { token: TOKEN, channel_id: CHANNEL } },
      routes: { 'github-pr': { deliver: 'mattermost' } },
    });
  });

  it('says which credential was refused, and still writes, so that only it must be corrected', async () => {
    const dialogue = await dialogueWith('token-of-nobody');
    const run = await runRecorded(['init'], { cwd: directory, dialogue });
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/FAULT +target\.mattermost +the credential was refused/);
    expect(run.stdout).not.toContain('token-of-nobody');
    expect(existsSync(path('angelia.yaml'))).toBe(true);
  });

  it('needs no key for a server that wants none', async () => {
    const run = await runRecorded(['init', '--skip-check', '--target', 'log'], {
      cwd: directory,
      typed: ['1', '3', 'http://127.0.0.1:9000/v1', 'm1', '', ''].join('\n'),
    });
    expect(run.code).toBe(0);
    expect(loaded().models.main).not.toHaveProperty('api_key');
    expect(variables()).not.toHaveProperty('MODEL_KEY');
  });

  it('writes nothing after Ctrl-D', async () => {
    const run = await runRecorded(['init'], { cwd: directory, typed: '1\n' });
    expect(run).toMatchObject({ code: 130 });
    expect(existsSync(path('angelia.yaml'))).toBe(false);
  });

  it('is refused without a terminal', async () => {
    const run = await runRecorded(['init'], { cwd: directory, input: '1\n' });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('--yes');
  });
});

describe('every combination of choices', () => {
  const combinations = Object.keys(senders).flatMap((sender) =>
    Object.keys(models).flatMap((model) =>
      Object.entries(targets)
        .filter(([, target]) => target.senders?.includes(sender) ?? true)
        .map(([target]) => ({ sender, model, target })),
    ),
  );

  it('is a config that loads', () => {
    expect(combinations.length).toBeGreaterThan(150);
    for (const names of combinations) {
      const channel_id = names.target === 'mattermost' ? CHANNEL : '1234567890123456789';
      const text = composeConfig({ ...names, answers: { ...ANSWERS, channel_id }, modelHasKey: true });
      writeFileSync(path('angelia.yaml'), text);
      const env = Object.fromEntries(variablesOf(names).map(({ name }) => [name, 'a-secret-of-some-length']));
      const { config } = loadConfig({ ...env, ANGELIA_CONFIG: path('angelia.yaml') });
      expect(Object.values(config.routes)[0]?.deliver).toBe(names.target);
    }
  });
});

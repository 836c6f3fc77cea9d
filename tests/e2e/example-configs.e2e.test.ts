import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { runRecorded } from '@angelia/cli/testing';
import {
  callTool,
  eventually,
  type ModelServer,
  say,
  startDiscord,
  startGithub,
  startMattermost,
  startModelServer,
  startSink,
  startSlack,
  startSmtp,
  startTelegram,
  startTestStack,
  type TestStack,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseDocument } from 'yaml';

// Every config of docs/examples, as it is but for the addresses of platforms and models, which are stand-ins here. One stack
// takes one after the other (a start costs as much CPU as dozens of tests), and each gets its own payload by the command line.

const directory = new URL('../../docs/examples/', import.meta.url).pathname;
const names = readdirSync(directory)
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => basename(file, '.yaml'));

const SERVICES = ['ingress', 'agent-runner', 'delivery', 'process-watcher'];
const secret = (name: string) => `the-secret-of-${name.toLowerCase().replaceAll('_', '-')}`;
const TELEGRAM_TOKEN = '123456789:AAexample-token_of_35_letters______';
const STANDARD_WEBHOOKS = `whsec_${Buffer.from('a secret that both sides know').toString('base64')}`;

/** The variables that a config names. */
function variablesIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name]) => name as string))];
}

/** Stands for a program that needs an account: it prints how it was called and what it read. */
const PROGRAM = `#!/bin/sh
printf '%s %s: ' "$(basename "$0")" "$*"
cat
`;

type Edit = readonly [path: readonly string[], value: unknown];

interface Example {
  readonly edits: readonly Edit[];
  /** Texts of the place that the answer goes to. */
  readonly shown: () => readonly string[];
  /** The answer, or a part of it. */
  readonly answer: string;
}

let dataDir: string;
let programs: string;
let stack: TestStack;
/** The variables of all examples. */
let variables: Record<string, string>;
let model: ModelServer;
let examples: Readonly<Record<string, Example>>;
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'angelia-examples-'));
  programs = mkdtempSync(join(tmpdir(), 'angelia-programs-'));
  // The users of the sessions run them.
  chmodSync(programs, 0o755);
  for (const name of ['claude', 'codex']) {
    writeFileSync(join(programs, name), PROGRAM);
    chmodSync(join(programs, name), 0o755);
  }
  const [github, slack, telegram, discord, mattermost, smtp, sink, agent] = await Promise.all([
    startGithub({ token: secret('GITHUB_TOKEN') }),
    startSlack({ token: secret('SLACK_TOKEN') }),
    startTelegram({ token: TELEGRAM_TOKEN }),
    startDiscord({ token: secret('DISCORD_TOKEN') }),
    startMattermost({ token: secret('MATTERMOST_TOKEN') }),
    startSmtp({ tls: 'none', user: 'angelia@example.com', password: secret('SMTP_PASSWORD') }),
    startSink({ secret: STANDARD_WEBHOOKS }),
    startSink({ secret: STANDARD_WEBHOOKS }),
  ]);
  model = await startModelServer();
  for (const one of [github, slack, telegram, discord, mattermost, smtp, sink, agent, model])
    stops.push(() => one.stop());
  agent.behave({ kind: 'answer', status: 200, body: JSON.stringify({ text: 'answer of your own agent' }) });

  const base = (name = 'main'): Edit => [['models', name, 'base_url'], model.baseUrl];
  const api = (target: string, url: string): Edit => [['targets', target, 'api_base'], url];
  const mail: Edit[] = [
    [['targets', 'email', 'host'], smtp.host],
    [['targets', 'email', 'port'], smtp.port],
    [['targets', 'email', 'security'], 'none'],
  ];
  // Without the hidden marker of the adapter.
  const visible = (body: string) => body.replaceAll(/<!--.*?-->\s*/gs, '');
  const comments = () =>
    github.comments.map(({ repo, number, body }) => `${repo}#${number} ${visible(body)}`);
  const mails = () => smtp.mails.map(({ mail }) => `${mail.subject} ${mail.text}`);
  const slackTexts = () => slack.messages.map(({ text }) => text);
  examples = {
    'pr-review': {
      edits: [base(), api('github_comment', github.url)],
      shown: comments,
      answer: 'acme/app#7 answer to: Review pull request',
    },
    'issue-triage': {
      edits: [base(), api('github_comment', github.url)],
      shown: comments,
      answer: 'acme/app#21 answer to: Issue',
    },
    'alert-triage': {
      edits: [
        base(),
        api('slack', `${slack.url}/api`),
        [['routes', 'alert-triage', 'coalesce', 'window_seconds'], 0.2],
      ],
      shown: slackTexts,
      answer: 'DiskFull (critical)',
    },
    'stripe-dispute': {
      edits: [base(), ...mail],
      shown: mails,
      answer: 'Dispute dp_1Sexample, 4200 eur answer to: A charge of 4200 eur is disputed',
    },
    question: {
      edits: [base(), api('telegram', telegram.url), [['public_url'], 'http://127.0.0.1:1']],
      shown: () => telegram.messages.map(({ shown }) => shown),
      answer: 'The red one is on its way.',
    },
    relay: {
      edits: [api('discord', `${discord.url}/api/v10`), ...mail],
      shown: () => discord.messages.map(({ content }) => content),
      answer: '**shop** 1.4.2 is live on production, by ada',
    },
    'coalesced-pushes': {
      edits: [
        base('local'),
        api('mattermost', mattermost.url),
        [['routes', 'coalesced-pushes', 'coalesce', 'window_seconds'], 0.2],
      ],
      shown: () => mattermost.posts.map(({ message }) => message),
      answer: 'answer to: ada pushed to acme/app',
    },
    'claude-code': {
      edits: [],
      shown: () => [readFileSync(join(dataDir, 'logs', 'delivery.log'), 'utf8')],
      answer: 'claude -p --allowedTools Read,Grep,Glob: Where is the price of an order computed?',
    },
    codex: {
      edits: [api('slack', `${slack.url}/api`)],
      shown: slackTexts,
      answer: 'codex exec --skip-git-repo-check --sandbox read-only -:',
    },
    'http-agent': {
      edits: [
        [['agents', 'default', 'url'], agent.url],
        [['targets', 'http', 'allow_private_networks'], true],
        [['routes', 'http-agent', 'deliver_extra', 'url'], sink.url],
      ],
      shown: () => sink.taken().map(({ payload }) => payload.text),
      answer: 'answer of your own agent',
    },
  };

  const needed = names.flatMap((name) => variablesIn(read(name)));
  variables = {
    ...Object.fromEntries(needed.map((name) => [name, secret(name)])),
    TELEGRAM_TOKEN,
    AGENT_SECRET: STANDARD_WEBHOOKS,
    OUTGOING_SECRET: STANDARD_WEBHOOKS,
  };
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(dataDir, '.env'), lines.join(''), { mode: 0o600 });
  stack = await startTestStack({
    dataDir,
    config: edited(names[0] as string),
    env: { PATH: `${programs}:${process.env.PATH}` },
  });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all(stops.map((stop) => stop()));
  for (const path of [dataDir, programs]) rmSync(path, { recursive: true, force: true });
});

const read = (name: string) => readFileSync(join(directory, `${name}.yaml`), 'utf8');

/** The example with the addresses of the stand-ins. */
function edited(name: string): string {
  const document = parseDocument(read(name));
  for (const [path, value] of examples[name]?.edits ?? []) document.setIn(path, value);
  return document.toString();
}

async function takenAt(service: string): Promise<string> {
  const { said } = await stack.readiness(service);
  const { config } = (JSON.parse(said) as { checks: { config: { in_force: string; taken_at: string } } })
    .checks;
  return config.in_force === 'file' ? config.taken_at : '';
}

async function useConfig(text: string): Promise<void> {
  const before = await Promise.all(SERVICES.map(takenAt));
  writeFileSync(join(dataDir, 'new.yaml'), `${text}\n# ${Math.random()}\n`, { mode: 0o600 });
  renameSync(join(dataDir, 'new.yaml'), join(dataDir, 'angelia.yaml'));
  await eventually(async () => {
    const now = await Promise.all(SERVICES.map(takenAt));
    return now.every((at, index) => at !== '' && at !== before[index]);
  });
}

/** As somebody who tries the example sends it. */
async function send(name: string): Promise<string> {
  const command = /angelia (send .*)$/m.exec(read(name))?.[1] ?? '';
  const file = join(directory, 'payloads', `${name}.json`);
  const argv = command.replace(`docs/examples/payloads/${name}.json`, file).split(' ');
  expect(argv).toEqual(['send', name, '--file', file]);
  const run = await runRecorded([...argv, '--json'], {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH ?? '',
      ANGELIA_DATA: dataDir,
      ANGELIA_CONFIG: join(dataDir, 'angelia.yaml'),
      ANGELIA_URL: stack.baseUrl,
      // The program itself reads .env.
      ...variables,
    },
  });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const answer = JSON.parse(run.stdout) as { status: string; session_id: string };
  expect(answer.status).toBe('accepted');
  return answer.session_id;
}

describe('docs/examples', () => {
  it('has ten, each with a payload, the variables that it needs, and a stand-in here', () => {
    expect(names).toHaveLength(10);
    expect(Object.keys(examples).sort()).toEqual([...names].sort());
    for (const name of names) {
      const head = read(name).split('\n\n')[0] ?? '';
      for (const variable of variablesIn(read(name)))
        expect({ name, head }).toEqual({ name, head: expect.stringContaining(variable) });
    }
  });

  it.each(names)('%s starts and answers its webhook', async (name) => {
    const example = examples[name] as Example;
    if (name === 'question') {
      model.next(
        callTool('clarify', { question: 'Which one?', choices: ['red', 'green'] }),
        say('The red one is on its way.'),
      );
    }
    await useConfig(edited(name));
    const session = await send(name);
    if (name === 'question') {
      await eventually(() => example.shown().some((text) => text.includes('Which one?')));
      const link =
        example
          .shown()
          .join('\n')
          .match(/\/answers\/\S+/)?.[0] ?? '';
      const answer = await fetch(new URL(link, stack.baseUrl), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ answer: 'red' }),
      });
      expect(answer.ok).toBe(true);
    }
    const { outcome } = await stack.waitForEnd(session, { settled: true });
    expect({
      name,
      outcome,
      events: (await stack.events(session)).filter(({ type }) => type === 'run.failed'),
    }).toEqual({
      name,
      outcome: 'succeeded',
      events: [],
    });
    const shown = example.shown().filter((text) => text.includes(example.answer));
    expect({ times: shown.length, all: example.shown() }).toEqual({ times: 1, all: expect.anything() });
    expect(model.problems).toEqual([]);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  eventually,
  type PlatformBehaviour,
  type SmtpBehaviour,
  startDiscord,
  startGithub,
  startMatrix,
  startMattermost,
  startSink,
  startSlack,
  startSmtp,
  startTelegram,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { addToStack, receiver, stack } from '../shared-stack.ts';

// Every target of the real stack, against platforms that fail in turn and quote the credential that they got. Then the test
// searches everything that the stack wrote for credentials.

const SINK_SECRET = `whsec_${Buffer.from('a secret of the http target').toString('base64')}`;
const credentials = {
  http: 'http-header-credential',
  telegram: '123456789:AAtelegram-credential_of_35_letters_',
  slack: 'xoxb-slack-credential',
  discord: 'discord-credential',
  github_comment: 'ghp_github-credential',
  email: 'smtp-credential',
  matrix: 'syt_matrix-credential',
  mattermost: 'mattermost-credential',
};
type Name = keyof typeof credentials;
const names = Object.keys(credentials) as Name[];
/** The secret part of a hook's address. */
const HOOK = 'T0123/B4567/hook-credential';
const secrets = [...Object.values(credentials), HOOK, SINK_SECRET, SINK_SECRET.slice('whsec_'.length)];

interface Platform {
  /** Refuses and quotes the credential, or takes the message and hangs up. */
  trouble(kind: 'down' | 'cut-off' | 'forbidden'): void;
  /** How often people see the text there. */
  copies(text: string): number;
  /** Everything that they see, in order. */
  shown(): string;
  stop(): Promise<void>;
}

const platforms = {} as Record<Name, Platform>;
/** Paths and headers of the calls of the hook. */
let hookCalls: () => Set<string>;

/** An error with the fields of every platform. */
function parrot(kind: 'down' | 'cut-off' | 'forbidden', credential: string): PlatformBehaviour {
  if (kind === 'cut-off') return { kind };
  // Slack's error codes are a fixed set.
  if (credential === credentials.slack && kind === 'forbidden') {
    return { kind: 'answer', answer: { status: 200, body: { ok: false, error: 'channel_not_found' } } };
  }
  const words = `no: Bearer ${credential} and bot${credential}`;
  const status = kind === 'down' ? 503 : 403;
  const body = {
    ok: false,
    error_code: status,
    description: words,
    message: words,
    error: words,
    errcode: 'M_X',
    errors: [{ message: words }],
  };
  return { kind: 'answer', answer: { status, body } };
}

const post = (route: Name, text: string) =>
  stack.post({ route, body: { text, chat: 1001, repo: 'octo/hello', mail: 'someone@example.com' } });

/** For all targets at once, because one that waits for its retry delays no other. */
const forEach = async <T>(act: (name: Name) => Promise<T>): Promise<Record<string, T>> =>
  Object.fromEntries(await Promise.all(names.map(async (name) => [name, await act(name)] as const)));

/** Every word has a number, so that a missing, cut or misplaced one is noticed. */
function longText(name: Name): string {
  let words = 0;
  const word = () => {
    words += 1;
    return `${tagOf(name)}${words};`;
  };
  const line = (length: number) => Array.from({ length }, word).join(' ');
  return Array.from(
    { length: 30 },
    () => `${line(12)} 👨‍👩‍👧‍👦🇩🇪 שלום עולם مرحبا\n\n\`\`\`ts\n${line(8)}\n  ${line(8)}\n\`\`\``,
  ).join('\n\n');
}

function wordsOf(text: string, name: Name): string[] {
  return text.match(new RegExp(`${tagOf(name)}\\d+;|👨‍👩‍👧‍👦🇩🇪|שלום|مرحبا`, 'gu')) ?? [];
}

/** Only letters, which no platform escapes. */
function tagOf(name: Name): string {
  return `${name.replaceAll('_', '')}word`;
}

async function everyRow(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const rows: Record<string, string> = {};
    for (const { name } of tables.rows) {
      const { rows: found } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      rows[`table ${name}`] = found.map(({ row }) => row).join('\n');
    }
    return rows;
  } finally {
    await client.end();
  }
}

function everyFile(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, readFileSync(path, 'latin1')]),
  );
}

export function allTargets(): void {
  addToStack(async () => {
    const { http: _http, email, ...tokens } = credentials;
    const [sink, smtp, telegram, slack, discord, github, matrix, mattermost] = await Promise.all([
      startSink({ secret: SINK_SECRET }),
      startSmtp({ tls: 'none', user: 'bot', password: email }),
      startTelegram({ token: tokens.telegram }),
      startSlack({ token: tokens.slack }),
      startDiscord({ token: tokens.discord }),
      startGithub({ token: tokens.github_comment }),
      startMatrix({ token: tokens.matrix }),
      startMattermost({ token: tokens.mattermost }),
    ]);
    const count = (text: string, shown: readonly string[]) =>
      shown.filter((one) => one.includes(text)).length;
    const apis = {
      telegram: [telegram, () => telegram.messages.map(({ shown }) => shown)],
      slack: [slack, () => slack.messages.map(({ text }) => text)],
      discord: [discord, () => discord.messages.map(({ content }) => content)],
      github_comment: [github, () => github.comments.map(({ body }) => body)],
      matrix: [matrix, () => matrix.events.map(({ content }) => String(content.body))],
      mattermost: [mattermost, () => mattermost.posts.map(({ message }) => message)],
    } as const;
    for (const [name, [standIn, shown]] of Object.entries(apis)) {
      platforms[name as Name] = {
        trouble: (kind) => standIn.next(parrot(kind, credentials[name as Name])),
        copies: (text) => count(text, shown()),
        shown: () => shown().join('\n'),
        stop: standIn.stop,
      };
    }
    platforms.http = {
      trouble: (kind) =>
        sink.next(
          kind === 'cut-off'
            ? { kind }
            : { kind: 'answer', status: kind === 'down' ? 503 : 403, body: credentials.http },
        ),
      copies: (text) =>
        count(text, [...new Map(sink.taken().map((one) => [one.webhookId, one.payload.text])).values()]),
      shown: () =>
        sink
          .taken()
          .map(({ payload }) => payload.text)
          .join('\n'),
      stop: sink.stop,
    };
    const refusal = (code: number): SmtpBehaviour => ({
      kind: 'refuse',
      at: 'MAIL',
      code,
      text: `no: ${email}`,
    });
    platforms.email = {
      trouble: (kind) => smtp.next(kind === 'cut-off' ? { kind } : refusal(kind === 'down' ? 451 : 550)),
      copies: (text) =>
        new Set(smtp.mails.filter(({ mail }) => mail.text?.includes(text)).map(({ mail }) => mail.messageId))
          .size,
      shown: () => smtp.mails.map(({ mail }) => mail.text ?? '').join('\n'),
      stop: smtp.stop,
    };
    hookCalls = () => new Set(sink.taken().map(({ path, headers }) => `${path} ${headers['x-hook']}`));
    const route = (deliver: Name, deliver_extra: object) => testRoute(sink.url, { deliver, deliver_extra });
    return {
      targets: {
        http: { secret: SINK_SECRET, headers: { authorization: `Bearer ${credentials.http}` } },
        telegram: { bot_token: tokens.telegram, api_base: telegram.url },
        slack: { bot_token: tokens.slack, api_base: `${slack.url}/api` },
        discord: { bot_token: tokens.discord, api_base: `${discord.url}/api/v10` },
        github_comment: { token: tokens.github_comment, api_base: github.url },
        email: {
          host: smtp.host,
          port: smtp.port,
          security: 'none',
          user: 'bot',
          password: email,
          from: 'bot@example.com',
        },
        matrix: { access_token: tokens.matrix, api_base: matrix.url },
        mattermost: { token: tokens.mattermost, api_base: mattermost.url },
      },
      routes: {
        http: route('http', { url: `${sink.url}/services/\${HOOK}`, headers: { 'x-hook': `\${HOOK}` } }),
        telegram: route('telegram', { chat_id: '{chat}' }),
        slack: route('slack', { channel: 'C0123456789' }),
        discord: route('discord', { channel_id: '1001' }),
        github_comment: route('github_comment', { repo: '{repo}', pr_number: '{chat}' }),
        email: route('email', { to: '{mail}' }),
        matrix: route('matrix', { room_id: '!room:hs.test' }),
        mattermost: route('mattermost', { channel_id: 'channel0000000000000000001' }),
      },
      env: {
        ANGELIA_LOG_LEVEL: 'trace',
        HOOK,
      },
    };
  });

  afterAll(async () => {
    await Promise.all([...Object.values(platforms).map((platform) => platform.stop())]);
  });

  describe('every target', () => {
    it('gets the answer once, after it was down and after it hung up', async () => {
      const seen = await forEach(async (name) => {
        platforms[name].trouble('down');
        platforms[name].trouble('cut-off');
        const text = `an answer for ${name}`;
        const { sessionId } = await post(name, text);
        const { deliveries } = await stack.waitForEnd(sessionId, { settled: true });
        const { delivered, dead } = deliveries;
        return { delivered, dead, copies: platforms[name].copies(text) };
      });
      const once = { delivered: 1, dead: 0, copies: 1 };
      expect(seen).toEqual({
        ...Object.fromEntries(names.map((name) => [name, once])),
        // No idempotency and no way to read back: one more copy, marked.
        telegram: { ...once, copies: 2 },
      });
      expect(hookCalls()).toEqual(new Set([`/services/${HOOK} ${HOOK}`]));
      expect(platforms.telegram.copies('(possible duplicate) an answer for telegram')).toBe(1);
    });

    it('that refuses makes the delivery dead at once, with the reason', async () => {
      const reasons = await forEach(async (name) => {
        platforms[name].trouble('forbidden');
        const { sessionId } = await post(name, `refused by ${name}`);
        const { deliveries } = await stack.waitForEnd(sessionId, { settled: true });
        expect({ name, ...deliveries }).toMatchObject({ name, delivered: 0, dead: 1 });
        const dead = (await stack.events(sessionId)).find(({ type }) => type === 'delivery.dead');
        return String(dead?.data.reason);
      });
      for (const reason of Object.values(reasons)) expect(reason).toMatch(/403|no:|channel_not_found/);
    });

    it('gets 10,000 characters of code, emoji and right-to-left text whole and in order', async () => {
      const seen = await forEach(async (name) => {
        const { sessionId } = await post(name, longText(name));
        const { deliveries } = await stack.waitForEnd(sessionId, { settled: true });
        expect({ name, ...deliveries }).toMatchObject({ name, delivered: 1, dead: 0 });
        return wordsOf(platforms[name].shown(), name);
      });
      for (const name of names) {
        expect({ name, words: seen[name] }).toEqual({ name, words: wordsOf(longText(name), name) });
      }
    });

    it('refuses the webhook when its address cannot be filled from the payload', async () => {
      const answer = await stack.post({
        route: 'github_comment',
        body: { text: 'x', chat: 'seven', repo: 'octo' },
      });
      expect(answer.status).toBe(400);
    });
  });

  describe('a credential', () => {
    it('is in no event and no other row, no log line, no span, no metric and no message on the bus', async () => {
      const traces = await forEach(async (name) => {
        platforms[name].trouble('down');
        platforms[name].trouble('forbidden');
        const { sessionId } = await post(name, `a secret of ${name}?`);
        return (await stack.waitForEnd(sessionId, { settled: true })).trace_id;
      });
      // The exporter sends the last spans after its delay.
      const attempts = (traceId: string) =>
        receiver.spansOf(traceId).filter(({ name }) => name.startsWith('deliver '));
      await eventually(() => Object.values(traces).every((traceId) => attempts(traceId).length === 2));
      const routes = await (
        await fetch(new URL('/v1/routes', stack.baseUrl), {
          headers: { authorization: `Bearer ${stack.adminToken}` },
        })
      ).text();
      expect(routes).toContain(`/services/\${HOOK}`);
      const written = {
        routes,
        ...(await everyRow(stack.postgresUrl)),
        ...everyFile(join(stack.dataDir, 'logs')),
        ...everyFile(join(stack.dataDir, 'nats')),
        telemetry: receiver.bodies.join('\n'),
      };
      // The search covered the right places.
      const all = Object.values(written).join('\n');
      expect(all).toContain('a secret of telegram?');
      expect(written.telemetry).toContain('angelia.outcome');
      expect(Object.keys(written).some((place) => place.endsWith('delivery.log'))).toBe(true);
      for (const [place, text] of Object.entries(written)) {
        const found = secrets.filter((secret) => text.includes(secret));
        expect({ place, found }).toEqual({ place, found: [] });
      }
      // The platform's error is there, without the credential.
      expect(all).toContain('[redacted]');
    });
  });
}

import { metrics } from '@angelia/service-kit';
import {
  createTestDatabase,
  eventually,
  slackCommand,
  slackRequest,
  type TelegramStandIn,
  type TestDatabase,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { startTestTelegram, TELEGRAM_SECRET, telegramConfig } from '../../testing/telegram-chat.ts';

let database: TestDatabase;
let ingress: TestIngress;
let telegram: TelegramStandIn;
let update = 1;

beforeAll(async () => {
  database = await createTestDatabase();
  telegram = await startTestTelegram();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: telegramConfig(telegram, { speakers: { anyone: true } }),
  });
});
afterAll(async () => {
  await telegram?.stop();
  await ingress?.close();
  await database?.drop();
});

function updateOf(text: string): object {
  update += 1;
  const date = Math.floor(Date.now() / 1000);
  const from = { id: 5, is_bot: false, first_name: 'Ada' };
  return {
    update_id: update,
    message: { message_id: update, date, chat: { id: 5, type: 'private' }, from, text },
  };
}

async function post(
  body: string,
  { path = '/chats/telegram/home', method = 'POST', ...headers }: Record<string, string> = {},
) {
  const response = await fetch(new URL(path, ingress.baseUrl), {
    method,
    headers: {
      'content-type': 'application/json',
      'x-telegram-bot-api-secret-token': TELEGRAM_SECRET,
      ...headers,
    },
    ...(method === 'GET' ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

const known = (id: number) => ingress.log.streams.findByKey(`chat:telegram:4711:${id}`);

describe('an update by webhook', () => {
  it('is answered 200 once it is durable', async () => {
    const { status } = await post(JSON.stringify(updateOf('hello')));
    expect([status, await known(update)]).toEqual([200, expect.any(String)]);
  });

  it.each([
    ['no secret', ''],
    ['another secret', 'a-wrong-secret-of-telegram'],
  ])('with %s is refused before it is parsed', async (_, secret) => {
    const forged = { 'x-telegram-bot-api-secret-token': secret };
    expect((await post(JSON.stringify(updateOf('forged')), forged)).status).toBe(401);
    expect(await known(update)).toBeNull();
    expect((await post('{"not json', forged)).status).toBe(401);
  });

  it.each([
    ['an unknown chat', { path: '/chats/telegram/other' }, 404],
    ['another platform', { path: '/chats/slack/home' }, 404],
    ['another method', { method: 'GET' }, 405],
    ['another type', { 'content-type': 'text/csv' }, 415],
  ])('for %s is answered %j with %i', async (_, how, status) => {
    expect((await post(JSON.stringify(updateOf('x')), how)).status).toBe(status);
  });

  it('that is not JSON is answered 400, one that is too large 413', async () => {
    expect((await post('{"not json')).status).toBe(400);
    expect((await post(JSON.stringify({ text: 'x'.repeat(1_100_000) }))).status).toBe(413);
  });

  it.each([
    ['{}'],
    ['[]'],
    ['null'],
    ['{"update_id":1,"message":{"message_id":"x"}}'],
    ['{"update_id":7,"poll":{}}'],
  ])('that nobody knows starts nothing: %s', async (body) => {
    expect((await post(body)).status).toBe(200);
  });

  it('is answered 503 with Retry-After while the log is away, so that it is sent again', async () => {
    const away = await startIngress({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
      config: telegramConfig(telegram, { speakers: { anyone: true } }),
    });
    try {
      const response = await fetch(new URL('/chats/telegram/home', away.baseUrl), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': TELEGRAM_SECRET },
        body: JSON.stringify(updateOf('hello')),
      });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    } finally {
      await away.close();
    }
  });
});

it('Slack is answered without a body, because it would show what is in it', async () => {
  const config = telegramConfig(telegram, { speakers: { anyone: true } });
  const secret = 'a-signing-secret-of-slack';
  await ingress.take({
    ...config,
    targets: { ...config.targets, slack: { bot_token: 'xoxb-1' } },
    chats: { ...config.chats, team: { platform: 'slack', receive: 'webhook', signing_secret: secret } },
  });
  const command = slackCommand({ channel: 'C1', user: 'U1', text: 'status' });
  const { headers, body } = slackRequest(command, secret);
  try {
    const answer = await post(body, { path: '/chats/slack/team', ...headers });
    expect(answer).toMatchObject({ status: 200, body: '' });
  } finally {
    await ingress.take(config);
  }
});

it('a post of a stranger in Mattermost is not asked for', async () => {
  const config = telegramConfig(telegram, { speakers: { anyone: true } });
  const token = 'the-token-of-the-outgoing-webhook';
  const mattermost = { platform: 'mattermost', receive: 'webhook', outgoing_token: token };
  await ingress.take({
    ...config,
    // Nobody answers there.
    targets: { ...config.targets, mattermost: { api_base: 'http://127.0.0.1:1', token: 'x' } },
    chats: { ...config.chats, town: { ...mattermost, speakers: { users: ['a'.repeat(26)] } } },
  });
  const posted = (user: string) => {
    const ids = { post_id: 'p'.repeat(26), channel_id: 'c'.repeat(26), user_id: user.repeat(26) };
    return post(JSON.stringify({ token, ...ids, text: 'hello' }), { path: '/chats/mattermost/town' });
  };
  try {
    expect((await posted('b')).status).toBe(200);
    expect((await posted('a')).status).toBe(500);
  } finally {
    await ingress.take(config);
  }
});

describe('the metric of updates', () => {
  const counted = (outcome: string) =>
    [...metrics.chatUpdates.series].find(({ labels }) => labels.join() === `telegram,${outcome}`)?.value ?? 0;
  /** The update is counted right after its answer, so a test waits for that. */
  async function counts(outcome: string, send: () => Promise<unknown>): Promise<void> {
    const before = counted(outcome);
    await send();
    await eventually(() => counted(outcome) === before + 1);
  }

  it('tells a forged update, a repeat, a stranger and what is no message from each other', async () => {
    const said = JSON.stringify(updateOf('hello'));
    await counts('turn', () => post(said));
    await counts('known', () => post(said));
    const forged = { 'x-telegram-bot-api-secret-token': 'a-wrong-secret-of-telegram' };
    await counts('unauthorized', () => post(said, forged));
    await counts('ignored', () => post(JSON.stringify({ update_id: 9, poll: {} })));
    await ingress.take(telegramConfig(telegram, { speakers: { users: [6] } }));
    try {
      await counts('stranger', () => post(JSON.stringify(updateOf('let me in'))));
      expect(await known(update)).toBeNull();
    } finally {
      await ingress.take(telegramConfig(telegram, { speakers: { anyone: true } }));
    }
  });
});

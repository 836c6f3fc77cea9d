import { randomUUID } from 'node:crypto';
import { pairingsStream, parseConfig } from '@angelia/contracts';
import { chatsFindings, type Finding } from '@angelia/doctor';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { type ConnectionNote, type Leading, lead, noteLead } from '@angelia/event-log/leading';
import {
  createTestDatabase,
  eventually,
  startDiscord,
  startMatrix,
  startSlack,
  startTelegram,
  type TestDatabase,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const TOKEN = '4711:the-token-of-the-bot';
const APP_TOKEN = 'xapp-1-A0123456789-1-secret';
const PUBLIC_URL = 'https://angelia.example.com';
const stops: (() => unknown)[] = [];
let database: TestDatabase;
let log: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
});
afterAll(async () => {
  for (const stop of stops) await stop();
  await log?.close();
  await database?.drop();
});

/** The names of chats are shared with the database: each test has its own. */
async function examined(
  config: Record<string, unknown>,
  { calls = false, now = Date.now, databaseUrl = database.url } = {},
): Promise<Finding[]> {
  const parsed = parseConfig({
    models: { demo: { provider: 'builtin', model: 'echo' } },
    agents: { default: { kind: 'llm', model: 'demo' } },
    ...config,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return chatsFindings(parsed.config, { databaseUrl, calls, timeoutMs: 60_000, now });
}

const telegram = (name: string, over: object = {}) => ({
  targets: { telegram: { bot_token: TOKEN } },
  chats: { [name]: { platform: 'telegram', speakers: { anyone: true }, ...over } },
});
const faults = (findings: readonly Finding[]) => findings.filter(({ state }) => state === 'fault');
const about = (findings: readonly Finding[], check: string) => findings.find((one) => one.check === check);

async function pairing(chat: string, events: readonly { type: string; data: object }[]): Promise<void> {
  const streamId = pairingsStream(chat);
  await log.append({
    streams: [
      {
        ...{ streamId, expectedVersion: 0 },
        events: events.map(({ type, data }) => ({
          ...{ eventId: randomUUID(), type, data },
          meta: { actor: 'admin', correlation: streamId },
        })),
      },
    ],
  });
}
const offered = (id: string) => ({
  type: 'pairing.offered',
  data: {
    ...{ pairing_id: id, name: 'Ada', code_digest: 'a'.repeat(64) },
    expires_at: new Date().toISOString(),
  },
});
const accepted = (id: string, who: string) => ({
  type: 'pairing.accepted',
  data: { pairing_id: id, kind: 'user', id: who },
});

describe('who may speak', () => {
  const empty = { speakers: {} };

  it('a chat without speakers that nobody is paired with is a warning that says how to pair', async () => {
    expect(about(await examined(telegram('empty', empty)), 'chat.empty.speakers')).toEqual({
      check: 'chat.empty.speakers',
      state: 'warning',
      what: 'nobody may speak: chats.empty.speakers is empty, and nobody is paired',
      todo: 'run `angelia chat pair empty --name <name>`, or add ids to chats.empty.speakers',
    });
  });

  it('a code that nobody used and a pairing that was revoked let in nobody; a pairing does', async () => {
    const revoked = { type: 'pairing.revoked', data: { pairing_id: 'p1' } };
    await pairing('chat0001', [offered('p1'), accepted('p1', '7'), revoked, offered('p2')]);
    await pairing('chat0002', [offered('p1'), accepted('p1', '7')]);
    const speakers = async (name: string) =>
      about(await examined(telegram(name, empty)), `chat.${name}.speakers`);
    expect(await speakers('chat0001')).toMatchObject({ state: 'warning' });
    expect(await speakers('chat0002')).toBeUndefined();
  });

  it('a disabled chat is not examined, and one is not judged while the log cannot be read', async () => {
    const disabled = await examined(telegram('off', { ...empty, enabled: false }));
    expect(disabled).toEqual([{ check: 'chat.off', state: 'ok', what: 'is disabled' }]);
    const away = await examined(telegram('away', empty), { databaseUrl: 'postgres://x@127.0.0.1:1/none' });
    expect(away.map(({ check, state }) => [check, state])).toEqual([['chats', 'skipped']]);
  });
});

describe('approvers', () => {
  it('whom no chat lets speak are warnings with their place; the others are none', async () => {
    await pairing('chat0003', [offered('p1'), accepted('p1', '9')]);
    const approvers = ['link', 'telegram:5', 'telegram:9', 'telegram:77', 'slack:U1', 'telegramm:5'];
    const config = telegram('chat0003', { speakers: { users: [5] }, tools: { approvers } });
    const found = (await examined(config)).filter(({ check }) => check === 'config.approvers');
    expect(found.map(({ what }) => what)).toEqual([
      'chats.chat0003.tools.approvers: nobody is `telegram:77`, because chat chat0003 does not let them speak',
      'chats.chat0003.tools.approvers: nobody is `slack:U1`, because no enabled chat has the platform slack',
      'chats.chat0003.tools.approvers: nobody is `telegramm:5`, because no enabled chat has the platform telegramm',
    ]);
    expect(found[0]?.todo).toContain('add `77` to chats.chat0003.speakers.users');
  });

  it('of agents and routes are looked at too, and where a whole group may speak nobody is refused', async () => {
    const tools = { approvers: ['telegram:77'] };
    const config = {
      ...telegram('group', { speakers: { chats: [-100] } }),
      agents: { default: { kind: 'llm', model: 'demo', tools } },
      routes: { hook: { secret: 'a-long-secret', tools } },
    };
    expect(about(await examined(config), 'config.approvers')).toBeUndefined();
    const closed = { ...config, chats: {} };
    expect((await examined(closed)).map(({ what }) => what.split(':')[0])).toEqual([
      'agents.default.tools.approvers',
      'routes.hook.tools.approvers',
    ]);
  });
});

describe('the connection', () => {
  /** Resolves when everything was noted. */
  async function led(chat: string, notes: readonly ConnectionNote[]): Promise<Leading> {
    let said = () => {};
    const all = new Promise<void>((resolve) => {
      said = resolve;
    });
    const leading = lead({
      ...{ log, name: `chat:${chat}`, holder: 'ingress-2#1', seconds: 60 },
      onLead: async (epoch, signal) => {
        for (const note of notes) await noteLead(log, { name: `chat:${chat}`, epoch }, note);
        said();
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    });
    stops.push(leading.stop);
    await all;
    return leading;
  }
  const down = { connected: false, error: 'Discord does not allow the intents. (close code 4014)' };
  const up = { connected: true, error: null };

  it('that is down is a fault with the reason, whichever replica leads it; one that is up is none', async () => {
    const broken = await led('broken', [up, down]);
    const working = await led('working', [down, up]);
    const connection = async (name: string) =>
      about(await examined(telegram(name)), `chat.${name}.connection`);
    expect(await connection('broken')).toMatchObject({
      state: 'fault',
      what: 'ingress-2 has no connection: Discord does not allow the intents. (close code 4014)',
      todo: expect.stringContaining('angelia restart ingress'),
    });
    expect(await connection('working')).toMatchObject({ state: 'ok', what: 'ingress-2 is connected' });
    await broken.stop();
    await working.stop();
    // Nobody leads it now, so what was said about it counts no more.
    expect(await connection('working')).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('no replica'),
    });
    await led('working', []);
    expect(await connection('working')).toMatchObject({
      state: 'skipped',
      what: 'ingress-2 is connecting',
    });
  });
});

describe('what the platform says', () => {
  const called = async (config: Record<string, unknown>, over: object = {}) =>
    (await examined(config, { calls: true, ...over })).filter(({ check }) => !check.endsWith('.connection'));

  it('Telegram: a webhook in the way, none, another one, and its last error', async () => {
    const standIn = await startTelegram({ token: TOKEN });
    stops.push(standIn.stop);
    const config = (name: string, over: object = {}) => ({
      ...telegram(name, over),
      ...{ public_url: PUBLIC_URL },
      targets: { telegram: { bot_token: TOKEN, api_base: standIn.url } },
    });
    const byWebhook = { receive: 'webhook', webhook_secret: 'a-webhook-secret-of-telegram' };
    expect(await called(config('home'))).toEqual([]);
    expect(faults(await called(config('home', byWebhook)))).toMatchObject([
      { what: `Telegram has no webhook, and not to ${PUBLIC_URL}/chats/telegram/home` },
    ]);
    expect(faults(await called({ ...config('home', byWebhook), public_url: undefined }))).toMatchObject([
      { todo: expect.stringContaining('set public_url') },
    ]);

    const set = (url: string) => standIn.inbox.call('setWebhook', { url });
    await set('https://old.example.com/a-secret-path');
    const inTheWay = about(await called(config('home')), 'chat.home.webhook');
    expect(inTheWay).toMatchObject({
      state: 'fault',
      what: expect.stringContaining('a webhook (https://old.example.com), so it refuses getUpdates'),
      todo: 'run `angelia chat setup home`',
    });
    expect(faults(await called(config('home', byWebhook)))[0]?.what).toContain('to https://old.example.com,');
    expect(JSON.stringify([inTheWay, await called(config('home', byWebhook))])).not.toContain(
      'a-secret-path',
    );

    // Nothing listens there.
    const base = 'http://127.0.0.1:1';
    const gone = { ...config('home', byWebhook), public_url: base };
    await set(`${base}/chats/telegram/home`);
    expect(await called(gone)).toMatchObject([{ state: 'ok' }]);
    standIn.inbox.say({ chat: 5, text: 'hello' });
    const failing = await eventually(async () => faults(await called(gone))[0]);
    expect(failing.what).toMatch(
      /^1 update wait.*; the last error of the webhook, at 20.*: Connection refused$/,
    );
    await standIn.inbox.call('getUpdates', {});
    const later = () => Date.now() + 7_200_000;
    expect(await called(gone, { now: later })).toMatchObject([{ state: 'ok' }]);
    expect(standIn.problems).toEqual([]);
  });

  it('Telegram: a bot_name that is not the name of the bot, or is missing where groups speak', async () => {
    const standIn = await startTelegram({ token: TOKEN });
    stops.push(standIn.stop);
    const found = (over: object) =>
      called({
        ...telegram('home', over),
        targets: { telegram: { bot_token: TOKEN, api_base: standIn.url } },
      });
    const inGroup = { speakers: { chats: [-100] } };
    expect(await found({ bot_name: 'my_bot' })).toEqual([
      {
        check: 'chat.home.bot_name',
        state: 'fault',
        what: 'Telegram calls the bot stand_in_bot, and bot_name is my_bot, so it hears no mention in a group',
        todo: 'set chats.home.bot_name to stand_in_bot',
      },
    ]);
    expect(await found(inGroup)).toMatchObject([{ check: 'chat.home.bot_name', state: 'warning' }]);
    expect(await found({ ...inGroup, bot_name: 'Stand_In_Bot' })).toEqual([]);
    expect(await found({ ...inGroup, mention: false })).toEqual([]);
    expect(standIn.problems).toEqual([]);
  });

  it('Telegram: a token that is refused is told by the check of the target alone', async () => {
    const standIn = await startTelegram({ token: 'another:token' });
    stops.push(standIn.stop);
    const config = telegram('home');
    const targets = { telegram: { bot_token: TOKEN, api_base: standIn.url } };
    expect(await called({ ...config, targets })).toEqual([]);
    expect(
      await called({
        ...config,
        targets: { telegram: { bot_token: TOKEN, api_base: 'http://127.0.0.1:1' } },
      }),
    ).toEqual([]);
  });

  it('Slack: scopes that the bot lacks for what the chat does, and an app token that is refused', async () => {
    const standIn = await startSlack({ token: 'xoxb-good', appToken: APP_TOKEN });
    stops.push(standIn.stop);
    const config = (appToken: string, files: object = {}) => ({
      targets: { slack: { bot_token: 'xoxb-good', api_base: `${standIn.url}/api` } },
      chats: { team: { platform: 'slack', app_token: appToken, speakers: { anyone: true }, files } },
    });
    const needed = [
      ...['app_mentions:read', 'channels:history', 'chat:write', 'commands'],
      ...['groups:history', 'im:history', 'mpim:history'],
    ];
    const reading = ['channels:read', 'groups:read', 'im:read', 'mpim:read'];
    standIn.grant(needed);
    expect(await called(config(APP_TOKEN))).toMatchObject([
      { what: `the bot token lacks the scopes ${reading.join(', ')}` },
    ]);
    standIn.grant([...needed, ...reading]);
    expect(await called(config(APP_TOKEN))).toEqual([]);
    expect(await called(config(APP_TOKEN, { deliver: true }))).toMatchObject([
      { check: 'chat.team.scopes', state: 'fault', what: 'the bot token lacks the scope files:write' },
    ]);
    standIn.grant([...needed.slice(2), ...reading]);
    const found = await called(config('xapp-1-A0123456789-1-wrong'));
    expect(found).toMatchObject([
      { what: 'the bot token lacks the scopes app_mentions:read, channels:history' },
      { check: 'chat.team.app_token', what: 'Slack refuses the app-level token (invalid_auth)' },
    ]);
    expect(JSON.stringify(found)).not.toContain('xapp-1');
    expect(standIn.problems).toEqual([]);
  });

  it('Discord: an intent that is off, and an interactions URL that takes the clicks away', async () => {
    const standIn = await startDiscord({ token: 'discord-good' });
    stops.push(standIn.stop);
    const config = (over: object = {}) => ({
      public_url: PUBLIC_URL,
      targets: { discord: { bot_token: 'discord-good', api_base: `${standIn.url}/api/v10` } },
      chats: { team: { platform: 'discord', speakers: { anyone: true }, ...over } },
    });
    expect(await called(config())).toEqual([]);
    standIn.setFlags(0);
    expect(await called(config())).toMatchObject([
      { check: 'chat.team.intents', state: 'fault', todo: expect.stringContaining('discord.com/developers') },
    ]);
    standIn.setFlags(1 << 18);
    const byWebhook = config({ receive: 'webhook', public_key: 'ab'.repeat(32) });
    expect(faults(await called(byWebhook))[0]?.what).toBe(
      `Discord sends commands and clicks by the gateway, and not to ${PUBLIC_URL}/chats/discord/team`,
    );
    await fetch(`${standIn.url}/api/v10/applications/@me`, {
      method: 'PATCH',
      headers: {
        authorization: 'Bot discord-good',
        'content-type': 'application/json',
        'user-agent': 'DiscordBot (https://github.com/angelia, 0.1)',
      },
      body: JSON.stringify({ interactions_endpoint_url: `${PUBLIC_URL}/chats/discord/team` }),
    });
    expect(await called(byWebhook)).toEqual([]);
    expect(faults(await called(config()))[0]).toMatchObject({
      what: expect.stringContaining(`to ${PUBLIC_URL}, and not by the gateway`),
      todo: 'run `angelia chat setup team`',
    });
    expect(standIn.problems).toEqual([]);
  });

  it('Matrix: a token of another user. Mattermost: no address for clicks', async () => {
    const standIn = await startMatrix({ token: 'matrix-good' });
    stops.push(standIn.stop);
    const matrix = (user_id: string) => ({
      targets: { matrix: { access_token: 'matrix-good', api_base: standIn.url } },
      chats: { rooms: { platform: 'matrix', user_id, speakers: { anyone: true } } },
    });
    expect(await called(matrix('@other:hs.test'))).toMatchObject([
      { check: 'chat.rooms.user_id', state: 'fault', what: expect.stringContaining('not to @other:hs.test') },
    ]);
    const owner = /belongs to (\S+),/.exec((await called(matrix('@other:hs.test')))[0]?.what ?? '')?.[1];
    expect(await called(matrix(owner ?? ''))).toEqual([]);
    const mattermost = {
      targets: { mattermost: { token: 'a-good-token', api_base: 'http://127.0.0.1:1' } },
      chats: { town: { platform: 'mattermost', speakers: { anyone: true } } },
    };
    expect(await called(mattermost)).toMatchObject([{ check: 'chat.town.webhook', state: 'warning' }]);
    expect(await called({ ...mattermost, public_url: PUBLIC_URL })).toEqual([]);
  });
});

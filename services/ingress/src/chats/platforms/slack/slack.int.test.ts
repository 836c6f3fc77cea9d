import { LogUnavailable } from '@angelia/event-log';
import {
  eventually,
  type SlackStandIn,
  slackClick,
  slackCommand,
  slackEvent,
  slackMessage,
  slackRequest,
  slackTs,
  startSlack,
} from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { verifySlackRequest } from '@slack/bolt';
import type { SignedRequest } from '../../../webhooks/authenticate/scheme.ts';
import { readPayload } from '../../../webhooks/payload/read-payload.ts';
import type { ChatClick, ChatUpdate, ConnectionContext } from '../../platform.ts';
import { slack } from './slack.ts';
import { readUpdate } from './updates.ts';

const TOKEN = 'xoxb-secret-of-the-bot';
const APP_TOKEN = 'xapp-1-A0123456789-1-secret';
const SIGNING_SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const channel = 'C0123456789';
const user = 'U0123456789';
let platform: SlackStandIn;

beforeEach(async () => {
  platform = await startSlack({ token: TOKEN, appToken: APP_TOKEN });
});

afterEach(async () => {
  await platform.stop();
  expect(platform.problems).toEqual([]);
});

const settingsOf = (chat: object = {}) => ({
  chat: {
    app_token: APP_TOKEN,
    signing_secret: ['an-older-one', SIGNING_SECRET],
    session_per: 'thread',
    ...chat,
  },
  target: { bot_token: TOKEN, api_base: `${platform.url}/api` },
});
const call = (chat: object = {}) => ({ settings: settingsOf(chat), signal: new AbortController().signal });

describe('a request of Slack', () => {
  const signed = (update: Record<string, unknown>, secret = SIGNING_SECRET, at?: number) => {
    const { headers, body } = slackRequest(update, secret, at);
    return { headers, body: Buffer.from(body), nowMs: Date.now(), publicUrl: null };
  };
  const verified = (request: SignedRequest) => slack.webhook?.verify(request, settingsOf()) ?? false;
  const byBolt = ({ headers, body }: SignedRequest): boolean => {
    try {
      verifySlackRequest({
        signingSecret: SIGNING_SECRET,
        body: body.toString(),
        headers: {
          'x-slack-signature': String(headers['x-slack-signature']),
          'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
        },
      });
      return true;
    } catch {
      return false;
    }
  };

  it.each<[string, Record<string, unknown>, ChatUpdate['kind']]>([
    ['an event', slackMessage({ channel, user, text: 'hello' }), 'message'],
    ['a click', slackClick({ channel, user, ts: '1.000100', value: 'a1.x' }), 'click'],
    ['a slash command', slackCommand({ channel, user, text: 'status' }), 'message'],
  ])('%s comes to the one address, and is refused with another signature or later', (_what, update, kind) => {
    const request = signed(update);
    expect([verified(request), byBolt(request)]).toEqual([true, true]);
    const updates = slack.webhook?.read(readPayload(request.headers, request.body), request, settingsOf());
    expect(updates).toMatchObject([{ kind }]);
    for (const bad of [
      { ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) },
      signed(update, 'somebody-elses-secret'),
      signed(update, SIGNING_SECRET, Math.floor(Date.now() / 1000) - 301),
    ]) {
      expect([verified(bad), byBolt(bad)]).toEqual([false, false]);
    }
  });

  it('that asks whether we are there is answered with its challenge', () => {
    const body = {
      token: 't',
      challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P',
      type: 'url_verification',
    };
    expect(slack.webhook?.handshake?.(body)).toEqual({ status: 200, body: { challenge: body.challenge } });
    expect(slack.webhook?.handshake?.(slackMessage({ channel, user, text: 'x' }))).toBeNull();
  });
});

describe('Socket Mode', () => {
  interface Running {
    readonly taken: ChatUpdate[];
    readonly told: string[];
    readonly ended: Promise<unknown>;
    offset(): string | null;
    stop(): void;
  }

  async function run(take?: ConnectionContext['take'], from: string | null = null): Promise<Running> {
    const stop = new AbortController();
    const taken: ChatUpdate[] = [];
    const told: string[] = [];
    let offset = from;
    const connected = Promise.withResolvers<void>();
    const ended = slack.connection
      ?.run({
        settings: settingsOf(),
        signal: stop.signal,
        offset,
        connected: connected.resolve,
        tell: (what) => told.push(what),
        async take(updates, next) {
          await take?.(updates);
          taken.push(...updates);
          offset = next ?? offset;
        },
      })
      .then(
        () => 'stopped',
        (error: unknown) => error,
      );
    await Promise.race([connected.promise, ended]);
    return {
      ...{ taken, told, ended: ended ?? Promise.resolve() },
      offset: () => offset,
      stop: () => stop.abort(),
    };
  }
  const message = (text: string) => slackMessage({ channel, user, text });
  const texts = (taken: readonly ChatUpdate[]) =>
    taken.map((update) => (update.kind === 'message' ? update.text : update.kind));

  it('acknowledges an envelope only after what it brought is durable', async () => {
    const durable = Promise.withResolvers<void>();
    const running = await run(() => durable.promise);
    const first = platform.socketMode.send(message('one'));
    const second = platform.socketMode.send(slackClick({ channel, user, ts: '1.000100', value: 'a1.x' }));
    const third = platform.socketMode.send(slackCommand({ channel, user, text: 'status' }));
    const fourth = platform.socketMode.send(slackEvent({ type: 'reaction_added' }));
    // The answer to a ping comes after everything that was sent before it.
    platform.socketMode.ping();
    await eventually(() => platform.socketMode.pongs === 1);
    expect(platform.socketMode.acknowledged).toEqual([]);
    durable.resolve();
    await eventually(() => platform.socketMode.acknowledged.length === 4);
    expect(platform.socketMode.acknowledged).toEqual([first, second, third, fourth]);
    expect(texts(running.taken)).toEqual(['one', 'click', '/status', 'other']);
    running.stop();
    expect(await running.ended).toBe('stopped');
    await eventually(() => platform.socketMode.open === 0);
  });

  it('keeps what it has while the log is away, and takes it in order when it is back', async () => {
    let away = true;
    const running = await run(async () => {
      if (!away) return;
      away = false;
      throw new LogUnavailable('Postgres is away');
    });
    const ids = ['one', 'two', 'three'].map((text) => platform.socketMode.send(message(text)));
    await eventually(() => platform.socketMode.acknowledged.length === 3);
    expect(platform.socketMode.acknowledged).toEqual(ids);
    expect(texts(running.taken)).toEqual(['one', 'two', 'three']);
    running.stop();
    await running.ended;
  });

  it('opens the next connection before the old one closes, and loses nothing of either', async () => {
    const running = await run();
    platform.socketMode.warn();
    await eventually(() => platform.socketMode.connected === 2);
    const ids = [
      platform.socketMode.send(message('over the old one'), 'oldest'),
      platform.socketMode.send(message('over the new one'), 'newest'),
    ];
    await eventually(() => platform.socketMode.acknowledged.length === 2);
    expect(platform.socketMode.acknowledged.toSorted()).toEqual(ids.toSorted());
    platform.socketMode.closeOldest();
    await eventually(() => platform.socketMode.open === 1);
    const third = platform.socketMode.send(message('afterwards'));
    await eventually(() => platform.socketMode.acknowledged.includes(third));
    expect(texts(running.taken).toSorted()).toEqual(['afterwards', 'over the new one', 'over the old one']);
    running.stop();
    expect(await running.ended).toBe('stopped');
  });

  it('first takes what was written while no socket was open, in channels and threads, oldest first', async () => {
    const write = (text: string, thread_ts: string | null = null) =>
      platform.writeUnheard({ channel, user, text, thread_ts });
    const root = write('before the first connection');
    const first = await run();
    const heard = slackMessage({ channel, user, text: 'heard', ts: write('heard') });
    platform.socketMode.send(heard);
    platform.socketMode.send(slackCommand({ channel, user, text: 'status' }));
    await eventually(() => first.taken.length === 2);
    first.stop();
    await first.ended;

    for (const [text, thread] of [
      ['missed', null],
      ['missed in a thread', root],
      ['missed, too', null],
    ] as const)
      write(text, thread);
    platform.writeUnheard({ channel: 'D0123456789', user, text: 'missed in private' });
    const second = await run(undefined, first.offset());
    const later = slackTs();
    platform.socketMode.send(slackMessage({ channel, user, text: 'now', ts: later }));
    await eventually(() => second.taken.length === 5);
    expect(texts(second.taken)).toEqual([
      'missed',
      'missed in a thread',
      'missed, too',
      'missed in private',
      'now',
    ]);
    expect(second.taken[3]).toMatchObject({ direct: true, place: { chat: 'D0123456789', thread: null } });
    // As the event would have said it.
    expect(second.taken[0]?.updateId).toMatch(new RegExp(`^T0123456789:${channel}:\\d+\\.\\d+$`));
    expect([second.told, second.offset()]).toEqual([[], later]);
    second.stop();
    await second.ended;
  });

  it('goes on without what it may not read, and says so', async () => {
    platform.writeUnheard({ channel, user, text: 'missed' });
    platform.refuseHistory('missing_scope');
    const running = await run(undefined, '1700000000.000001');
    platform.socketMode.send(message('now'));
    await eventually(() => running.taken.length === 1);
    expect(texts(running.taken)).toEqual(['now']);
    expect(running.told).toEqual([expect.stringContaining('conversations.history: missing_scope')]);
    running.stop();
    await running.ended;
  });

  it('ends with an error if Slack has trouble while it is asked for what was missed, so that it is asked again', async () => {
    platform.writeUnheard({ channel, user, text: 'missed' });
    platform.refuseHistory('internal_error', 1);
    const since = '1700000000.000001';
    const running = await run(undefined, since);
    expect(String(await running.ended)).toContain('conversations.history: internal_error');
    expect([running.taken, running.told]).toEqual([[], []]);
    const again = await run(undefined, since);
    await eventually(() => again.taken.length === 1);
    again.stop();
    await again.ended;
  });

  it('waits as long as Slack says if it asks too often for what was missed', async () => {
    platform.writeUnheard({ channel, user, text: 'missed' });
    platform.refuseHistory('ratelimited', 1);
    const running = await run(undefined, '1700000000.000001');
    await eventually(() => running.taken.length === 1);
    expect(running.told).toEqual([]);
    running.stop();
    await running.ended;
  });

  it('says that it read the newest messages only if more were missed in a channel', async () => {
    for (let count = 0; count < 200; count += 1)
      platform.writeUnheard({ channel, user, text: `missed ${count}` });
    const all = await run(undefined, '1700000000.000001');
    await eventually(() => all.taken.length === 200);
    expect(all.told).toEqual([]);
    all.stop();
    await all.ended;
    platform.writeUnheard({ channel, user, text: 'one more' });
    const running = await run(undefined, '1700000000.000001');
    await eventually(() => running.taken.length === 200);
    expect(running.told).toEqual([expect.stringContaining(`channel ${channel} of Slack has more than 200`)]);
    running.stop();
    await running.ended;
  });

  it('ends with an error if the network is cut, so that it is opened again', async () => {
    const running = await run();
    platform.socketMode.cut();
    expect(String(await running.ended)).toMatch(
      /Slack, Socket Mode: (the platform closed|the connection failed)/,
    );
  });

  it('says so if somebody switched it off, or the token is wrong', async () => {
    const running = await run();
    platform.socketMode.disable();
    expect(String(await running.ended)).toContain('Socket Mode is switched off');
    const refused = slack.connection?.run({
      settings: { ...settingsOf({ app_token: 'xapp-1-A0123456789-2-wrong' }) },
      signal: new AbortController().signal,
      offset: null,
      connected: () => {},
      tell: () => {},
      take: async () => {},
    });
    await expect(refused).rejects.toThrow('Slack refused apps.connections.open: invalid_auth');
  });
});

it('who clicked is told in the thread, and nobody else sees it', async () => {
  const click = readUpdate(
    slackClick({ channel, user, ts: '1.000200', thread_ts: '1.000100', value: 'a1.x' }),
    settingsOf(),
    Date.now(),
  );
  await slack.acknowledge?.(click as ChatClick, 'Already answered by <ann> & co', call());
  expect(platform.ephemerals).toEqual([
    { channel, user, text: 'Already answered by &lt;ann&gt; &amp; co', threadTs: '1.000100' },
  ]);
});

describe('a file in Slack', () => {
  const file = { id: 'F0123456789', name: 'a.txt', mimeType: 'text/plain', bytes: 5 };

  it('is fetched with the token, and not beyond its bound', async () => {
    platform.addFile(file.id, 'hello');
    const bytes = await slack.fetchFile?.(file, 5, call());
    expect(Buffer.from(bytes ?? []).toString()).toBe('hello');
    await expect(slack.fetchFile?.(file, 4, call())).rejects.toThrow('more than 4 bytes');
  });

  it('at another host is not fetched, because the token would go there', async () => {
    platform.addFile(file.id, 'hello', 'https://files.slack.com.evil.example/a.txt');
    await expect(slack.fetchFile?.(file, 5, call())).rejects.toThrow('the token is not sent there');
    platform.addFile(file.id, 'hello', 'http://files.slack.com/a.txt');
    await expect(slack.fetchFile?.(file, 5, call())).rejects.toThrow('the token is not sent there');
  });
});

describe('the set-up', () => {
  const commands = [{ name: 'status', description: 'x' }];
  const manifestOf = async (receive: string, webhookUrl: string | null) => {
    const setup = await slack.setup?.({ commands, webhookUrl }, call({ receive }));
    return JSON.parse(setup?.paste?.text ?? 'null');
  };

  it('prints the manifest for the way in that is configured, whatever public_url says', async () => {
    const url = 'https://hooks.example.com/chats/slack/team';
    expect((await manifestOf('webhook', url)).settings.socket_mode_enabled).toBe(false);
    expect((await manifestOf('connection', url)).settings.socket_mode_enabled).toBe(true);
  });

  it('by webhook needs a public address', async () => {
    const setup = await slack.setup?.({ commands, webhookUrl: null }, call({ receive: 'webhook' }));
    expect(setup).toMatchObject({ todo: [expect.stringContaining('public_url')] });
  });
});

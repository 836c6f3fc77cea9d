import { type DiscordStandIn, eventually, startDiscord } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RecordedConnection, recordedConnection } from '../../../testing/recorded-connection.ts';
import type { ChatClick, PlatformSettings } from '../../platform.ts';
import { discord } from './discord.ts';

const token = 'MQ.discord-secret';
const anna = { id: '42', name: 'Anna' };
const channel = '1001';
let platform: DiscordStandIn;
let settings: PlatformSettings;
let connection: RecordedConnection;

beforeEach(async () => {
  platform = await startDiscord({ token });
  settings = {
    chat: {
      receive: 'connection',
      public_key: platform.publicKey,
      speakers: { chats: [channel], users: [anna.id] },
    },
    target: { bot_token: token, api_base: `${platform.url}/api/v10` },
  };
  if (discord.connection === undefined) throw new Error('discord has no connection');
  connection = recordedConnection(discord.connection, settings);
});

afterEach(async () => {
  await connection.stop();
  await platform.stop();
  expect(platform.problems).toEqual([]);
});

const write = (text: string, over = {}) => platform.write({ channel, from: anna, text, ...over });
const taken = (...texts: string[]) =>
  eventually(() => JSON.stringify(connection.texts) === JSON.stringify(texts), {
    describe: () =>
      JSON.stringify({ wanted: texts, taken: connection.texts, errors: connection.errors.map(String) }),
  });

async function start(): Promise<void> {
  const before = connection.connected;
  connection.start();
  await eventually(() => connection.connected > before);
}

describe('the gateway', () => {
  it('brings what people write, in threads too, and nothing of bots, of ours, or that was edited', async () => {
    platform.thread('55', channel);
    await start();
    write('hello');
    platform.write({ channel: '55', from: anna, text: 'in a thread' });
    platform.write({ channel, from: { id: '9', bot: true }, text: 'beep' });
    platform.gateway.dispatch('MESSAGE_UPDATE', { id: '1', channel_id: channel, content: 'edited' });
    platform.gateway.dispatch('MESSAGE_REACTION_ADD', { emoji: { name: '👍' } });
    write('to me alone', { channel: '742', guild: null });
    await taken('hello', 'in a thread', 'to me alone');
    expect(connection.taken).toMatchObject([
      { place: { chat: channel, thread: null }, direct: false },
      { place: { chat: '55', thread: '55', parent: channel }, answerTo: { thread_id: '55' } },
      { place: { chat: '742', thread: null }, direct: true },
    ]);
  });

  it('resumes after a drop behind what is durable: nothing is lost and nothing comes twice', async () => {
    await start();
    write('one');
    await taken('one');
    platform.gateway.cut();
    write('two');
    await taken('one', 'two');
    // The database is away for a moment: the batch is brought again.
    connection.failTakes(2);
    write('three');
    write('four');
    await taken('one', 'two', 'three', 'four');
    platform.gateway.askToReconnect();
    write('five');
    await taken('one', 'two', 'three', 'four', 'five');
    // Another process takes over, with the offset of the log.
    await connection.stop();
    write('six');
    await start();
    await taken('one', 'two', 'three', 'four', 'five', 'six');
    expect(platform.gateway.identified).toBe(1);
    expect(platform.gateway.resumed).toBeGreaterThanOrEqual(4);
  });

  it('asks for what was written while Discord forgot the session', async () => {
    await start();
    write('one');
    await taken('one');
    await connection.stop();
    write('two');
    platform.write({ channel: '742', from: anna, text: 'direct', guild: null });
    platform.write({ channel: '3003', from: anna, text: 'in a channel of nobody' });
    platform.gateway.forgetSessions();
    connection.start();
    await taken('one', 'two', 'direct');
    write('three');
    await taken('one', 'two', 'direct', 'three');
    expect(connection.taken).toMatchObject([{}, { direct: false }, { direct: true }, {}]);
    expect(platform.gateway.identified).toBe(2);
  });

  it('is connected anew if heartbeats are not answered', async () => {
    await platform.stop();
    platform = await startDiscord({ token, heartbeatMs: 30 });
    const target = { ...settings.target, api_base: `${platform.url}/api/v10` };
    connection = recordedConnection(discord.connection ?? { account: () => '', run: async () => {} }, {
      ...settings,
      target,
    });
    await start();
    platform.gateway.answerHeartbeats(false);
    await eventually(() => platform.gateway.resumed > 0);
    platform.gateway.answerHeartbeats(true);
    write('still here');
    await taken('still here');
  });

  it.each([
    ['an intent that is switched off', 4014, /Message Content Intent/],
    ['a refused token', 4004, /targets\.discord\.bot_token/],
  ])('%s is an error that says what to do, and is no reason to go on trying', async (_, code, words) => {
    platform.gateway.refuseWith(code);
    connection.start();
    const error = await eventually(() => connection.errors[0]);
    expect(error).toMatchObject({ retryable: false, message: expect.stringMatching(words) });
    expect(error.message).not.toContain('discord-secret');
  });
});

describe('an interaction', () => {
  it('comes by the gateway: a command is received at once, a click is answered with what came of it', async () => {
    await start();
    const command = platform.command('status', undefined, { channel, from: anna });
    await eventually(() => platform.interactions.find(({ id, answer }) => id === command && answer !== null));
    expect(platform.interactions[0]?.answer).toMatchObject({
      type: 4,
      data: { content: 'Received.', flags: 64 },
    });
    platform.gateway.dispatch(
      'INTERACTION_CREATE',
      platform.clickPayload('9000', 'a1.x.1.deny', { channel, from: anna }),
    );
    const click = await eventually(() =>
      connection.taken.find((one): one is ChatClick => one.kind === 'click'),
    );
    expect(connection.taken[0]).toMatchObject({ command: { name: 'status' }, mentioned: true });
    const context = { settings, signal: new AbortController().signal };
    await discord.acknowledge?.(click, 'Ben was first', context);
    expect(platform.interactions[1]?.answer).toMatchObject({ data: { content: 'Ben was first', flags: 64 } });
  });

  it('that the log is slow to take is put off before Discord gives up, and answered later', async () => {
    await start();
    /** The answer of the interaction while its batch is held. */
    const whileHeld = async (begin: () => unknown) => {
      const gate = Promise.withResolvers<void>();
      connection.holdTake(gate.promise);
      const id = begin();
      const interaction = await eventually(() =>
        platform.interactions.find((one) => one.id === id && one.answer !== null),
      );
      expect(interaction.answer).toEqual({ type: 5, data: { flags: 64 } });
      gate.resolve();
      return interaction;
    };
    const command = await whileHeld(() => platform.command('status', undefined, { channel, from: anna }));
    await eventually(() => command.edited === 'Received.');
    const clicked = await whileHeld(() => {
      const payload = platform.clickPayload('9000', 'a1.x.1.deny', { channel, from: anna });
      platform.gateway.dispatch('INTERACTION_CREATE', payload);
      return payload.id;
    });
    const click = await eventually(() =>
      connection.taken.find((one): one is ChatClick => one.kind === 'click'),
    );
    const context = { settings, signal: new AbortController().signal };
    await discord.acknowledge?.(click, 'You chose: Oslo', context);
    expect(clicked.edited).toBe('You chose: Oslo');
  });

  it('at the interactions URL is proved by its signature, and PING is answered', () => {
    const { webhook } = discord;
    const payload = platform.clickPayload('9000', 'a1.x.1.deny', { channel, from: anna });
    const { headers, body } = platform.signed(payload);
    const request = { headers, body: Buffer.from(body), nowMs: Date.now(), publicUrl: null };
    expect(webhook?.verify(request, settings)).toBe(true);
    expect(webhook?.verify({ ...request, body: Buffer.from(`${body} `) }, settings)).toBe(false);
    expect(webhook?.verify({ ...request, nowMs: request.nowMs + 3_600_000 }, settings)).toBe(false);
    expect(webhook?.verify({ ...request, headers: {} }, settings)).toBe(false);
    expect(webhook?.verify(request, { ...settings, chat: {} })).toBe(false);
    expect(webhook?.handshake?.({ type: 1 })).toEqual({ status: 200, body: { type: 1 } });
    expect(webhook?.handshake?.(payload)).toBeNull();
    // A click is answered by a later call. A command is answered at once, to the person alone.
    expect(webhook?.answer?.([], payload)).toEqual({ status: 202 });
    const command = platform.commandPayload('status', undefined, { channel, from: anna });
    expect(webhook?.answer?.([], command)).toMatchObject({
      status: 200,
      body: { type: 4, data: { flags: 64 } },
    });
  });
});

describe('a file', () => {
  const file = (id: string) => ({ id, name: 'a.txt', mimeType: null, bytes: null });
  const fetchFile = (id: string, most = 1_000) =>
    discord.fetchFile?.(file(id), most, { settings, signal: new AbortController().signal });

  it('comes from a server of Discord, without the token, and not if it is too long', async () => {
    const address = `${platform.url}/attachments/1/2/a.txt?ex=1`;
    const bytes = await fetchFile(address);
    expect(Buffer.from(bytes ?? []).toString()).toBe('file /attachments/1/2/a.txt');
    await expect(fetchFile(address, 10)).rejects.toThrow('more than 10 bytes');
    for (const foreign of [
      'http://169.254.169.254/latest',
      'https://cdn.discordapp.com.evil.test/x',
      'file:///etc/passwd',
    ]) {
      await expect(fetchFile(foreign)).rejects.toThrow('not on a server of Discord');
    }
  });
});

it('setting up registers the commands once, and clears an old interactions URL', async () => {
  const commands = [{ name: 'status', description: 'x'.repeat(200) }];
  const context = { settings, signal: new AbortController().signal };
  const webhook = {
    settings: { ...settings, chat: { ...settings.chat, receive: 'webhook' } },
    signal: context.signal,
  };
  const url = 'https://angelia.example.com/chats/discord/team';
  expect(await discord.setup?.({ commands, webhookUrl: url }, webhook)).toMatchObject({ todo: [] });
  expect(platform.interactionsUrl).toBe(url);
  expect(await discord.setup?.({ commands, webhookUrl: null }, webhook)).toMatchObject({
    todo: [expect.stringContaining('public_url')],
  });
  expect(await discord.setup?.({ commands, webhookUrl: null }, context)).toMatchObject({ todo: [] });
  expect(platform.interactionsUrl).toBeNull();
  expect(platform.commands).toMatchObject([
    { name: 'status', type: 1 },
    { name: 'pair', type: 1 },
  ]);
});

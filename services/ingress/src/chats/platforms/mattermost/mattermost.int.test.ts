import { clickProof } from '@angelia/chats';
import { eventually, MATTERMOST_BOT, type MattermostStandIn, startMattermost } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RecordedConnection, recordedConnection } from '../../../testing/recorded-connection.ts';
import type { ChatConnection } from '../../platform.ts';
import { mattermost } from './mattermost.ts';

const TOKEN = 'mattermost-secret';
const COMMAND_TOKEN = 'token-of-the-slash-command';
const OUTGOING_TOKEN = 'token-of-the-outgoing-webhook';
const channelId = 'channel0000000000000000001';
const userId = 'user0000000000000000000001';
let platform: MattermostStandIn;
let running: RecordedConnection | null = null;

beforeEach(async () => {
  platform = await startMattermost({ token: TOKEN });
});

afterEach(async () => {
  await running?.stop();
  running = null;
  await platform.stop();
  expect(platform.problems).toEqual([]);
});

const settingsOf = (token = TOKEN) => ({
  chat: {
    receive: 'connection',
    session_per: 'thread',
    command_token: ['an-older-one', COMMAND_TOKEN],
    outgoing_token: OUTGOING_TOKEN,
  },
  target: { token, api_base: platform.url },
});
const call = () => ({ settings: settingsOf(), signal: new AbortController().signal });

async function start(token = TOKEN): Promise<RecordedConnection> {
  running = recordedConnection(mattermost.connection as ChatConnection, settingsOf(token));
  running.start();
  const { socket } = platform;
  const before = socket.greeted;
  await eventually(() => socket.greeted > before || (running?.errors.length ?? 0) > 0);
  return running;
}
const say = (text: string, more: { unheard?: true } = {}) =>
  platform.say({ channelId, userId, text, ...more });

describe('the connection', () => {
  it('brings posts in order, and neither our own nor edits', async () => {
    const connection = await start();
    say('one');
    platform.say({ channelId, userId: MATTERMOST_BOT.id, text: 'our own' });
    platform.socket.send('post_edited', { post: '{}' });
    platform.socket.send('reaction_added', { reaction: '{}' });
    say('two');
    await eventually(() => connection.texts.length === 2);
    expect(connection.texts).toEqual(['one', 'two']);
    expect(connection.errors).toEqual([]);
  });

  it('reads what it missed while it was away, once, and before what is said now', async () => {
    say('before the first connection', { unheard: true });
    const connection = await start();
    await eventually(() => connection.offset !== null);
    say('heard');
    await eventually(() => connection.texts.length === 1);
    await connection.stop();
    for (const text of ['missed one', 'missed two']) say(text, { unheard: true });
    connection.start();
    await eventually(() => platform.socket.clients === 1);
    say('now');
    await eventually(() => connection.texts.includes('now'));
    expect(connection.texts).toEqual(['heard', 'missed one', 'missed two', 'now']);
  });

  it('never takes what was written just before its first connection', async () => {
    say('just before', { unheard: true });
    const connection = await start();
    await eventually(() => connection.offset !== null);
    await connection.stop();
    say('missed', { unheard: true });
    connection.start();
    await eventually(() => connection.texts.length > 0);
    expect(connection.texts).toEqual(['missed']);
  });

  it('takes again what did not become durable', async () => {
    const connection = await start();
    await eventually(() => connection.offset !== null);
    connection.failTakes(2);
    say('one');
    say('two');
    await eventually(() => connection.texts.length === 2);
    expect(connection.texts).toEqual(['one', 'two']);
    expect(connection.errors.length).toBeGreaterThan(0);
  });

  it('begins anew after a cut, and if the server has dropped an event', async () => {
    const connection = await start();
    await eventually(() => connection.offset !== null);
    platform.socket.cut();
    await eventually(() => platform.socket.greeted > 1 && platform.socket.clients === 1);
    say('nobody heard this', { unheard: true });
    platform.socket.skip();
    say('after the gap');
    await eventually(() => connection.texts.length === 2);
    expect(connection.texts).toEqual(['nobody heard this', 'after the gap']);
  });

  it('says so if the token is wrong', async () => {
    const connection = await start('another-token');
    expect(String(connection.errors[0])).toContain('401');
    expect(String(connection.errors[0])).not.toContain('another-token');
  });
});

describe('a request', () => {
  const json = (body: unknown) => ({
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
    nowMs: Date.now(),
    publicUrl: null,
  });
  const form = (fields: Record<string, string>, headers = {}) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: Buffer.from(new URLSearchParams(fields).toString()),
    nowMs: Date.now(),
    publicUrl: null,
  });
  const verify = (request: ReturnType<typeof json>) => mattermost.webhook?.verify(request, settingsOf());
  const data = 'a1.x.1.deny';

  it('is believed with the proof of its own kind only', () => {
    const proof = clickProof(TOKEN, data);
    expect(verify(json({ context: { data, proof } }))).toBe(true);
    expect(verify(form({ command: '/angelia', token: COMMAND_TOKEN }))).toBe(true);
    const inHeader = form({ command: '/angelia' }, { authorization: `Token ${COMMAND_TOKEN}` });
    expect(verify(inHeader)).toBe(true);
    expect(verify(json({ token: OUTGOING_TOKEN, post_id: 'x' }))).toBe(true);
    for (const forged of [
      json({ context: { data, proof: clickProof('another-token', data) } }),
      json({ context: { data: 'a1.x.1.approve', proof } }),
      json({ context: { data }, token: OUTGOING_TOKEN }),
      json({ context: {}, token: COMMAND_TOKEN }),
      form({ command: '/angelia', token: OUTGOING_TOKEN }),
      form({ command: '/angelia' }),
      json({ token: COMMAND_TOKEN, post_id: 'x' }),
      json({ token: [OUTGOING_TOKEN], post_id: 'x' }),
      json(null),
      { ...json({}), body: Buffer.from('{"cut') },
      { ...json({}), headers: { 'content-type': 'text/plain' } },
    ]) {
      expect(verify(forged)).toBe(false);
    }
  });

  it('of a click is answered with what the clicker alone is told', () => {
    expect(mattermost.webhook?.answer?.([], null, ['Already answered'])).toMatchObject({
      status: 200,
      body: { ephemeral_text: 'Already answered' },
    });
    expect(mattermost.webhook?.answer?.([], null, [null])).toEqual({ status: 200, body: {} });
  });
});

it('a file is fetched with the token, and not beyond its bound', async () => {
  const file = { id: 'file0000000000000000000001', name: 'a.txt', mimeType: null, bytes: null };
  platform.addFile(file.id, 'hello');
  expect(Buffer.from((await mattermost.fetchFile?.(file, 5, call())) ?? []).toString()).toBe('hello');
  await expect(mattermost.fetchFile?.(file, 4, call())).rejects.toThrow('more than 4 bytes');
});

describe('the set-up', () => {
  const url = 'https://hooks.example.com/chats/mattermost/team';
  const wanted = { commands: [{ name: 'status', description: 'x' }], webhookUrl: url };

  it('adds the slash command once, and gives its token', async () => {
    platform.allowCommands();
    const first = await mattermost.setup?.(wanted, call());
    const again = await mattermost.setup?.(wanted, call());
    expect(platform.commands).toMatchObject([{ trigger: 'angelia', url, method: 'P', auto_complete: true }]);
    expect(first?.paste).toEqual({ what: 'command_token', text: platform.commands[0]?.token });
    expect(again).toEqual(first);
  });

  it('says how to do it by hand if the bot may not', async () => {
    const setup = await mattermost.setup?.(wanted, call());
    expect(setup).toMatchObject({ done: [], todo: expect.arrayContaining([expect.stringContaining(url)]) });
    expect(setup).not.toHaveProperty('paste');
  });

  it('without a public address asks for one, and names no other to paste', async () => {
    const { settings } = call();
    const byWebhook = { ...settings, chat: { ...settings.chat, receive: 'webhook' } };
    const setup = await mattermost.setup?.(
      { ...wanted, webhookUrl: null },
      { ...call(), settings: byWebhook },
    );
    expect(setup?.todo.join(' ')).toMatch(/set `public_url`/);
    expect(setup?.todo.join(' ')).not.toContain('null');
  });
});

describe('the post that an outgoing webhook is about', () => {
  async function look(post: { id: string; userId: string }, text: string) {
    const body = { token: OUTGOING_TOKEN, post_id: post.id, channel_id: channelId, user_id: post.userId };
    const request = { headers: {}, body: Buffer.from(''), nowMs: Date.now(), publicUrl: null };
    const [update] =
      mattermost.webhook?.read({ ...body, text, trigger_word: '!ask' }, request, settingsOf()) ?? [];
    if (update?.kind !== 'message') throw new Error('not a message');
    return mattermost.webhook?.look?.(update, call());
  }

  it('says in which thread it stands', async () => {
    const root = say('the root');
    const post = platform.say({ channelId, userId, text: '!ask what is new?', rootId: root.id });
    expect(await look(post, '!ask what is new?')).toMatchObject({
      ...{ kind: 'message', text: 'what is new?', mentioned: true, replyTo: root.id },
      answerTo: { channel_id: channelId, root_id: root.id },
    });
  });

  it('starts nothing if it is our own, or nobody can read it: no loop can begin', async () => {
    const own = platform.say({ channelId, userId: MATTERMOST_BOT.id, text: '!ask me again' });
    expect(await look(own, '!ask me again')).toMatchObject({ kind: 'other', why: 'our own' });
    const gone = { id: 'gone0000000000000000000000', userId };
    expect(await look(gone, '!ask x')).toMatchObject({ kind: 'other' });
    const other = { ...say('said by somebody else'), userId: 'user0000000000000000000002' };
    expect(await look(other, '!ask x')).toMatchObject({ kind: 'other' });
  });
});

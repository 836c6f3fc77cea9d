import { buttonData, messageKey } from '@angelia/chats';
import { type RecordedEvent, sessionId } from '@angelia/contracts';
import { newEventId } from '@angelia/sessions';
import {
  createTestDatabase,
  type DiscordStandIn,
  eventually,
  type MatrixStandIn,
  startDiscord,
  startMatrix,
  type TestDatabase,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';
import type { Chat } from '../chat.ts';
import { offsetStream, readOffset } from './take-batch.ts';

// Discord by its gateway and Matrix by its sync, from the stand-ins into the log. A worker does what runner and delivery do.

// The first part of a token is the bot's id.
const TOKEN = 'MQ.discord-secret';
const ANNA = { id: '42', name: 'Anna' };
const BEN = { id: '43', name: 'Ben' };
/** Each test has a channel of its own: a conversation goes on in its channel. */
const CHANNELS = ['1001', '1002', '1003', '1004', '1005', '1006'];
const MENTION = [{ id: '1', name: 'angelia', bot: true }];
const ROOMS = ['!one:hs.test', '!two:hs.test', '!three:hs.test'];

let database: TestDatabase;
let discord: DiscordStandIn;
let matrix: MatrixStandIn;
let ingress: TestIngress;
let worker: Worker;
let early: { readonly discord: string; readonly matrix: string };

const configOf = (ofDiscord: Record<string, unknown> = {}) => ({
  models: { demo: { provider: 'builtin', model: 'echo' } },
  agents: { default: { kind: 'llm', model: 'demo' } },
  targets: {
    discord: { bot_token: TOKEN, api_base: `${discord.url}/api/v10` },
    matrix: { access_token: 'syt_secret', api_base: matrix.url },
  },
  chats: {
    team: { platform: 'discord', speakers: { chats: CHANNELS }, ...ofDiscord },
    rooms: { platform: 'matrix', user_id: matrix.user, speakers: { chats: ROOMS }, mention: false },
  },
});

async function start(): Promise<void> {
  ingress = await startIngress({ databaseUrl: database.url, config: configOf() });
  await discord.gateway.ready();
}

const knowsWhereItIs = (name: string, platform: string, account: string) =>
  eventually(async () => {
    const stream = offsetStream({ name, platform: { name: platform } } as Chat, account);
    return (await readOffset(ingress.log, stream)).offset;
  });

beforeAll(async () => {
  database = await createTestDatabase();
  discord = await startDiscord({ token: TOKEN });
  matrix = await startMatrix({ token: 'syt_secret' });
  for (const room of ROOMS) matrix.room(room, ['@anna:hs.test', '@ben:hs.test']);
  worker = openWorker({ databaseUrl: database.url });
  await start();
  // What is said before the first connection is no news. What comes after it is, though nothing was taken yet.
  await Promise.all([knowsWhereItIs('team', 'discord', '1'), knowsWhereItIs('rooms', 'matrix', matrix.user)]);
  await ingress.close();
  early = {
    discord: discord.write({ channel: '1006', from: ANNA, text: '<@1> early', mentions: MENTION }),
    matrix: matrix.write('!three:hs.test', '@anna:hs.test', 'early'),
  };
  await start();
});
afterAll(async () => {
  expect([...(discord?.problems ?? []), ...(matrix?.problems ?? [])]).toEqual([]);
  await ingress?.close();
  await worker?.close();
  await discord?.stop();
  await matrix?.stop();
  await database?.drop();
});

const underKey = (update: string) => ingress.log.streams.findByKey(`chat:${update}`);
/** The session that an update of Discord led to. */
const byDiscord = (id: string) => eventually(() => underKey(`discord:1:${id}`));
const byMatrix = (id: string) => eventually(() => underKey(`matrix:${matrix.user}:${id}`));
const eventsOf = (id: string): Promise<RecordedEvent[]> => ingress.log.streams.read(id);
const inputsOf = async (id: string) =>
  (await eventsOf(id))
    .filter(({ type }) => type === 'turn.requested')
    .map(({ data }) => (data as { input: string }).input);
const answerOf = async (id: string) =>
  (await eventsOf(id)).find(({ type }) => type === 'clarification.answered')?.data;

/** As delivery, when the platform has taken a message of the session. */
async function delivered(session: string, chat: string, message: string): Promise<void> {
  const place = { platform: 'discord', chat, thread: null } as const;
  const event = {
    ...{ eventId: newEventId(), type: 'key.session-opened', data: { session_id: session } },
    meta: { actor: 'delivery', correlation: session },
  };
  const stream = { streamId: messageKey(place, message), expectedVersion: 0, events: [event] };
  await ingress.log.append({ streams: [stream] });
}

async function asks(session: string, choices: readonly string[]): Promise<number> {
  await worker.asksFor(session, 'clarify', 'call-1');
  const { state } = await worker.does(session, ({ generation }) => ({
    ...{ type: 'request-clarification', generation, clarificationId: 'question-1', callId: 'call-1' },
    ...{ question: 'Where to?', choices, deadline: Date.now() + 3_600_000, onTimeout: 'end' },
  }));
  return state.clarification?.output ?? 0;
}

const write = (channel: string, text: string, over = {}) =>
  discord.write({ channel, from: ANNA, text, ...over });
const speak = (channel: string, text: string) =>
  byDiscord(write(channel, `<@1> ${text}`, { mentions: MENTION }));

it('what is said between the first connection and a restart is taken, though nothing was taken before', async () => {
  expect(await inputsOf(await byDiscord(early.discord))).toContain('Anna: early');
  expect(await inputsOf(await byMatrix(early.matrix))).toContain('Anna: early');
});

describe('Discord', () => {
  it('a mention begins a conversation; a reply, and a thread below the answer, are its next turns', async () => {
    const session = await speak('1001', 'What is new?');
    const answer = discord.write({ channel: '1001', from: { id: '1', bot: true }, text: 'Nothing' });
    await delivered(session, '1001', answer);
    await worker.answers(session, 'Nothing');
    const next = await byDiscord(write('1001', 'And now?', { replyTo: answer }));
    expect((await eventsOf(next))[0]?.data).toMatchObject({ continues: session });
    discord.thread(answer, '1001');
    const below = await byDiscord(write(answer, 'Really?'));
    expect(await inputsOf(below)).toContain('Anna: Really?');
    expect((await eventsOf(below))[0]?.data).toMatchObject({ conversation_id: session });
  });

  it('a stranger, a bot and what is said to nobody start nothing', async () => {
    const ignored = [
      write('1002', 'not to you'),
      write('2002', '<@1> in another channel', { mentions: MENTION }),
      write('1002', '<@1> beep', { from: { id: '77', bot: true }, mentions: MENTION }),
      write('1002', '<@1> /stop', { mentions: MENTION, over: { message_reference: { type: 1 } } }),
    ];
    await speak('1002', 'the last one');
    expect(await Promise.all(ignored.map((id) => underKey(`discord:1:${id}`)))).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it('a click answers the question, and a second one is told who was first', async () => {
    const session = await speak('1003', 'Travel');
    const output = await asks(session, ['Rome', 'Oslo']);
    const click = (person: typeof ANNA, choice: number) => {
      const data = buttonData({ sessionId: sessionId(session), output, action: `choice-${choice}` });
      const payload = discord.clickPayload('900', data, { channel: '1003', from: person });
      discord.gateway.dispatch('INTERACTION_CREATE', payload);
      return eventually(() => discord.interactions.find(({ id }) => id === payload.id)?.answer);
    };
    expect(await click(ANNA, 1)).toMatchObject({ type: 4, data: { content: 'You chose: Oslo', flags: 64 } });
    expect(await click(BEN, 0)).toMatchObject({
      data: { content: expect.stringMatching(/answered by Anna: Oslo/) },
    });
    expect(await answerOf(session)).toMatchObject({ answer: 'Oslo', person: 'Anna' });
  });
});

it('in Matrix, a number names a choice of the question, and any other text is an answer of its own', async () => {
  const session = await byMatrix(matrix.write('!one:hs.test', '@anna:hs.test', 'Travel'));
  await asks(session, ['Rome', 'Oslo']);
  await byMatrix(matrix.write('!one:hs.test', '@ben:hs.test', '2'));
  expect(await answerOf(session)).toMatchObject({ answer: 'Oslo', person: 'Ben' });
});

it('in Matrix, !pair lets somebody in whom the config does not know', async () => {
  const room = '!eve:hs.test';
  const eve = '@eve:hs.test';
  matrix.room(room, [eve]);
  const early = matrix.write(room, eve, 'let me in');
  const { body } = await apiCall(ingress, '/v1/chats/rooms/pairings', {
    method: 'POST',
    body: { name: 'Eve' },
  });
  await byMatrix(matrix.write(room, eve, `!pair ${(body as { code: string }).code}`));
  const [created] = await eventsOf(await byMatrix(matrix.write(room, eve, 'hello')));
  expect(created?.meta.actor).toBe(`chat:matrix:${eve} (Eve)`);
  expect(await underKey(`matrix:${matrix.user}:${early}`)).toBeNull();
});

it('after a restart both go on where the log says: what was written meanwhile is taken once', async () => {
  const before = await byMatrix(matrix.write('!two:hs.test', '@anna:hs.test', 'before'));
  await speak('1004', 'before');
  await ingress.close();
  const written = write('1004', '<@1> meanwhile', { mentions: MENTION });
  const said = matrix.write('!two:hs.test', '@anna:hs.test', 'meanwhile');
  await start();
  const inDiscord = await inputsOf(await byDiscord(written));
  expect(inDiscord.filter((input) => input === 'Anna: meanwhile')).toHaveLength(1);
  const inMatrix = await inputsOf(await byMatrix(said));
  expect(inMatrix.filter((input) => input === 'Anna: meanwhile')).toHaveLength(1);
  expect(inMatrix.filter((input) => input === 'Anna: before')).toEqual(['Anna: before']);
  expect(before).toBeDefined();
  expect(discord.gateway.identified).toBe(1);
});

it('the interactions URL answers PING, refuses what is forged, and takes a command once', async () => {
  await ingress.take(configOf({ receive: 'webhook', public_key: discord.publicKey }));
  const post = async (body: unknown, over: Record<string, string> = {}) => {
    const signed = discord.signed(body);
    const response = await fetch(`${ingress.baseUrl}/chats/discord/team`, {
      method: 'POST',
      body: signed.body,
      headers: { ...signed.headers, ...over },
    });
    return { status: response.status, text: await response.text() };
  };
  expect(await post({ type: 1 })).toEqual({ status: 200, text: '{"type":1}' });
  const command = discord.commandPayload('help', undefined, { channel: '1005', from: ANNA });
  expect(await post(command, { 'x-signature-ed25519': 'ab'.repeat(64) })).toMatchObject({ status: 401 });
  expect(await underKey(`discord:5:${command.id}`)).toBeNull();
  for (const _ of ['first', 'again']) {
    const { status, text } = await post(command);
    expect({ status, body: JSON.parse(text) }).toMatchObject({ status: 200, body: { type: 4 } });
  }
  const session = (await underKey(`discord:5:${command.id}`)) ?? '';
  expect((await eventsOf(session)).map(({ type }) => type)).toContain('session.created');
  const click = discord.clickPayload('900', 'not ours', { channel: '1005', from: ANNA });
  expect(await post(click)).toEqual({ status: 202, text: '' });
  await ingress.take(configOf());
});

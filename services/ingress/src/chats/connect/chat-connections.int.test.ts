import { isDeepStrictEqual } from 'node:util';
import { buttonData } from '@angelia/chats';
import { sessionId } from '@angelia/contracts';
import { readChats } from '@angelia/event-log/admin';
import { metrics } from '@angelia/service-kit';
import { createTestDatabase, eventually, type TelegramStandIn, type TestDatabase } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { startTestTelegram, takenUpdate, telegramConfig } from '../../testing/telegram-chat.ts';
import { openWorker } from '../../testing/worker.ts';

let database: TestDatabase;
let telegram: TelegramStandIn;
const started: TestIngress[] = [];

const config = (over: object = {}) => ({
  ...telegramConfig(telegram, { receive: 'connection', speakers: { anyone: true }, ...over }),
  // Both replicas are in this process. However busy it is, none loses its lead but by leaving.
  timing: { lead_seconds: 60 },
});

async function start(instance: string, chat: object = {}): Promise<TestIngress> {
  const ingress = await startIngress({
    databaseUrl: database.url,
    config: config(chat),
    env: { ANGELIA_INSTANCE: instance },
  });
  started.push(ingress);
  return ingress;
}

beforeAll(async () => {
  database = await createTestDatabase();
  telegram = await startTestTelegram();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((ingress) => ingress.close()));
});
afterAll(async () => {
  expect(telegram?.problems).toEqual([]);
  await telegram?.stop();
  await database?.drop();
});

const offsetEvents = async ({ log }: TestIngress) => {
  const streams = await log.streams.heads({ from: 'chat-offset-', to: 'chat-offset.', limit: 10 });
  return (await Promise.all(streams.map(({ streamId }) => log.streams.read(streamId)))).flat();
};
const connectionOf = async (ingress: TestIngress) =>
  ((await apiCall(ingress, '/v1/chats')).body.items as { connection: object }[])[0]?.connection;

const down = () => [...metrics.chatDown.series].find(({ labels }) => labels[0] === 'telegram')?.value;
const turns = () =>
  [...metrics.chatUpdates.series].find(({ labels }) => labels.join() === 'telegram,turn')?.value ?? 0;

describe('a connection from inside', () => {
  it('takes updates, and the offset is in the append of what the last one started', async () => {
    const ingress = await start('one');
    const before = (await offsetEvents(ingress)).length;
    const chatter = telegram.inbox.push({ poll: { id: '1' } });
    const update = telegram.inbox.say({ chat: 31, text: 'hello' });
    const id = await takenUpdate(telegram, ingress, update);
    expect((await ingress.log.streams.read(id ?? ''))[0]?.data).toMatchObject({ route: 'chat:home' });
    const offsets = (await offsetEvents(ingress)).slice(before).map(({ data }) => data);
    expect(offsets).toEqual([{ offset: String(update.update_id + 1) }]);
    expect(chatter.update_id).toBeLessThan(update.update_id);
    expect(await connectionOf(ingress)).toEqual({ leading: true, connected: true, error: null });
  });

  /** The session that the message starts, and the data of the button of a choice of its question. */
  async function asked(ingress: TestIngress, chat: number, choices: readonly string[]) {
    const update = telegram.inbox.say({ chat, text: '@stand_in_bot ask me' });
    const id = (await takenUpdate(telegram, ingress, update)) ?? '';
    const worker = openWorker({ databaseUrl: database.url });
    await worker.asksFor(id, 'clarify', 'call-1');
    const { state } = await worker.does(id, ({ generation }) => ({
      ...{ type: 'request-clarification', generation, clarificationId: 'question-1', callId: 'call-1' },
      ...{ question: 'Where to?', choices, deadline: Date.now() + 3_600_000, onTimeout: 'end' },
    }));
    await worker.close();
    const button = (choice: number) =>
      buttonData({
        sessionId: sessionId(id),
        output: state.clarification?.output ?? 0,
        action: `choice-${choice}`,
      });
    return { id, button };
  }

  it('takes a click as the answer of a question, and tells the second one who was first', async () => {
    const ingress = await start('one');
    const { id, button } = await asked(ingress, -36, ['Rome', 'Oslo']);
    const click = (from: { id: number; first_name: string }, choice: number) => {
      const update = telegram.inbox.click({ chat: -36, from, message: 1, data: button(choice) });
      const { callback_query: query } = update as unknown as { callback_query: { id: string } };
      return eventually(() => telegram.inbox.acknowledged.get(query.id));
    };
    expect(await click({ id: 5, first_name: 'Ada' }, 1)).toBe('You chose: Oslo');
    expect(await click({ id: 6, first_name: 'Ben' }, 0)).toBe('Already answered by Ada: Oslo');
    const answers = (await ingress.log.streams.read(id)).filter(
      ({ type }) => type === 'clarification.answered',
    );
    expect(answers).toMatchObject([
      { data: { answer: 'Oslo', person: 'Ada' }, meta: { actor: 'chat:telegram:5' } },
    ]);
  });

  it('records a click that came too late, and goes on', async () => {
    const ingress = await start('one');
    const { id, button } = await asked(ingress, 35, ['Rome']);
    const late = [1, 2].map(() =>
      telegram.inbox.click({ chat: 35, from: { id: 35 }, message: 1, data: button(0) }),
    )[1];
    await eventually(async () =>
      (await offsetEvents(ingress)).some(
        (event) => (event.data as { offset: string }).offset === String((late?.update_id ?? 0) + 1),
      ),
    );
    expect(await takenUpdate(telegram, ingress, telegram.inbox.say({ chat: 35, text: 'more' }))).toBe(id);
  });

  it('is led by one of two replicas, and by the other one when that leaves', async () => {
    const one = await start('one');
    await takenUpdate(telegram, one, telegram.inbox.say({ chat: 32, text: 'first' }));
    const two = await start('two');
    const requests = telegram.requests.length;
    const id = await takenUpdate(telegram, one, telegram.inbox.say({ chat: 32, text: 'second' }));
    expect(await connectionOf(two)).toMatchObject({ leading: false });
    expect(telegram.requests.length).toBeLessThan(requests + 10);
    started.splice(started.indexOf(one), 1);
    await one.close();
    expect(await takenUpdate(telegram, two, telegram.inbox.say({ chat: 32, text: 'third' }))).toBe(id);
  });

  it('is connected at once, though nobody writes: its first call does not wait', async () => {
    const before = telegram.requests.length;
    const ingress = await start('one');
    const waits = () =>
      telegram.requests
        .slice(before)
        .filter(({ path }) => path.endsWith('/getUpdates'))
        .map(({ body }) => (body as { timeout: number }).timeout);
    await eventually(() => waits().length > 0);
    expect(waits()[0]).toBe(0);
    await eventually(async () => ((await connectionOf(ingress)) as { connected: boolean }).connected);
    await eventually(() => (waits()[1] ?? 0) > 0);
  });

  it('says why it is not connected: a webhook is set', async () => {
    await telegram.inbox.call('setWebhook', { url: 'http://127.0.0.1:1/' });
    const ingress = await start('one');
    const status = await eventually(async () => {
      const connection = (await connectionOf(ingress)) as { error: string | null };
      return connection.error !== null && connection;
    });
    expect(status).toMatchObject({ connected: false, error: expect.stringContaining('webhook is active') });
    expect(down()).toBe(1);
    // For doctor, and for the replicas that do not lead.
    const noted = async () =>
      (await readChats({ url: database.url, chats: ['home'], timeoutMs: 60_000 })).connections.get('home');
    await eventually(async () => (await noted())?.note?.error === status.error);
    expect(await noted()).toMatchObject({
      holder: expect.stringMatching(/^one#/),
      note: { connected: false },
    });
    const before = turns();
    await telegram.inbox.call('deleteWebhook', {});
    await takenUpdate(telegram, ingress, telegram.inbox.say({ chat: 33, text: 'hello' }));
    expect(down()).toBe(0);
    await eventually(async () => isDeepStrictEqual((await noted())?.note, { connected: true, error: null }));
    await eventually(() => turns() === before + 1);
  });

  it('says why it is not connected, though the words of the platform are cut within a character', async () => {
    const description = `${'x'.repeat(299)}\u{1f600}`;
    const answer = { status: 500, body: { ok: false, error_code: 500, description } };
    telegram.behaveToReads({ kind: 'answer', answer });
    const ingress = await start('one');
    await eventually(async () => {
      const seen = await readChats({ url: database.url, chats: ['home'], timeoutMs: 60_000 });
      return seen.connections.get('home')?.note?.error?.includes('xxx');
    });
    telegram.behaveToReads({ kind: 'take' });
    await takenUpdate(telegram, ingress, telegram.inbox.say({ chat: 37, text: 'hello' }));
  });

  it('asks no faster if Telegram brings nothing that can be confirmed, and goes on behind it', async () => {
    const ingress = await start('one');
    const answer = { status: 200, body: { ok: true, result: [null, {}, { update_id: 'x' }] } };
    telegram.behaveToReads({ kind: 'answer', answer });
    await eventually(async () => {
      const { error } = (await connectionOf(ingress)) as { error: string | null };
      return error === 'Telegram brought updates without an update_id';
    });
    telegram.behaveToReads({ kind: 'answer', answer: { status: 200, body: { ok: true, result: 'x' } } });
    await eventually(async () => {
      const { error } = (await connectionOf(ingress)) as { error: string | null };
      return error === 'Telegram answered getUpdates without a list of updates';
    });
    telegram.behaveToReads({ kind: 'take' });
    expect(
      await takenUpdate(telegram, ingress, telegram.inbox.say({ chat: 38, text: 'hello' })),
    ).not.toBeNull();
  });

  it('stays connected while the config changes elsewhere', async () => {
    const ingress = await start('one');
    await takenUpdate(telegram, ingress, telegram.inbox.say({ chat: 39, text: 'first' }));
    const begun = () =>
      telegram.requests.filter(
        ({ path, body }) => path.endsWith('/getUpdates') && (body as { timeout: number }).timeout === 0,
      ).length;
    const before = begun();
    await ingress.take({
      ...config(),
      routes: { other: { secret: 'a-secret-of-a-route', prompt: 'x', deliver: 'log' } },
    });
    await takenUpdate(telegram, ingress, telegram.inbox.say({ chat: 39, text: 'second' }));
    expect(begun()).toBe(before);
  });

  it('follows the config: a disabled chat is left, an enabled one connected', async () => {
    const ingress = await start('one', { enabled: false });
    const update = telegram.inbox.say({ chat: 34, text: 'hello' });
    expect(telegram.inbox.unconfirmed()).toContainEqual(update);
    await ingress.take(config({ enabled: true }));
    expect(await takenUpdate(telegram, ingress, update)).not.toBeNull();
    await ingress.take(config({ enabled: false }));
    await eventually(async () => !((await connectionOf(ingress)) as { leading: boolean }).leading);
  });
});

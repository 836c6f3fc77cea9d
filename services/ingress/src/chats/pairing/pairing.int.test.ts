import { createTestDatabase, eventually, type TelegramStandIn, type TestDatabase } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import {
  sendUpdatesTo,
  startTestTelegram,
  takenUpdate,
  telegramConfig,
} from '../../testing/telegram-chat.ts';
import { Pairings, pairingAppend } from './pairings.ts';

// Nobody is listed in the config: whoever speaks was let in by a code. Strangers are told one line a day.

const LINE = 'I do not know you.';

let database: TestDatabase;
let ingress: TestIngress;
let telegram: TelegramStandIn;
let nextPerson = 20_000;

beforeAll(async () => {
  database = await createTestDatabase();
  telegram = await startTestTelegram();
  const config = telegramConfig(telegram, { stranger_reply: LINE });
  ingress = await startIngress({
    databaseUrl: database.url,
    config: { ...config, public_url: 'http://127.0.0.1:1' },
  });
  await sendUpdatesTo(telegram, ingress);
});
afterAll(async () => {
  expect(telegram?.problems).toEqual([]);
  await telegram?.stop();
  await ingress?.close();
  await database?.drop();
});

const newPerson = () => {
  nextPerson += 1;
  return nextPerson;
};
const say = (person: number, text: string, chat = person) =>
  takenUpdate(telegram, ingress, telegram.inbox.say({ chat, from: { id: person }, text }));

async function newCode(name: string): Promise<{ id: string; code: string }> {
  const { status, body } = await apiCall(ingress, '/v1/chats/home/pairings', {
    method: 'POST',
    body: { name },
  });
  expect(status).toBe(201);
  return body as { id: string; code: string };
}
const actorOf = async (id: string | null) => (await ingress.log.streams.read(id ?? ''))[0]?.meta.actor;
const sessions = async () => (await ingress.log.streams.heads({ from: '0', to: 'g', limit: 1_000 })).length;

describe('a pairing code', () => {
  it('lets a person in under a name, which is part of the actor of what they do', async () => {
    const ada = newPerson();
    const { code } = await newCode('Ada');
    expect(code).toMatch(/^[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}$/);
    expect(await say(ada, `/pair ${code.toLowerCase()}`)).not.toBeNull();
    expect(await actorOf(await say(ada, 'hello'))).toBe(`chat:telegram:${ada} (Ada)`);
  });

  it('works once, and not for somebody else', async () => {
    const { code } = await newCode('Once');
    const first = newPerson();
    await say(first, `/start ${code}`);
    const second = newPerson();
    expect(await say(second, `/pair ${code}`)).toBeNull();
    expect(await say(second, 'hello')).toBeNull();
  });

  it('in a group lets everybody in the group in', async () => {
    const { code } = await newCode('The team');
    await say(newPerson(), `/pair@stand_in_bot ${code}`, -7_007);
    const id = await say(newPerson(), 'hello @stand_in_bot', -7_007);
    expect(await actorOf(id)).toMatch(/ \(The team\)$/);
  });

  it('is kept as a hash, and is in no log line', async () => {
    const { code } = await newCode('Secret');
    const events = await ingress.log.streams.read('chat-pairings-home');
    expect(JSON.stringify(events)).not.toContain(code);
    expect(ingress.logged()).not.toContain(code);
  });

  it('can be revoked: who used it may not speak any more', async () => {
    const person = newPerson();
    const { id, code } = await newCode('Gone');
    await say(person, `/pair ${code}`);
    expect(await say(person, 'hello')).not.toBeNull();
    const path = `/v1/chats/home/pairings/${id}`;
    const call = () =>
      fetch(new URL(path, ingress.baseUrl), {
        method: 'DELETE',
        headers: { authorization: 'Bearer test-admin-token-0123' },
      });
    expect((await call()).status).toBe(204);
    expect(await say(person, 'hello')).toBeNull();
    expect((await call()).status).toBe(404);
    const { body } = await apiCall(ingress, '/v1/chats/home/pairings');
    expect((body.items as { id: string }[]).map((one) => one.id)).not.toContain(id);
  });

  it('that is wrong is answered once; after ten of them even the right one has to wait', async () => {
    // One try a second comes back. Twelve that take seconds are no burst, so they are tried again, by another person.
    await eventually(async () => {
      const { code } = await newCode('Too late');
      const person = newPerson();
      const before = await sessions();
      for (let n = 0; n < 12; n += 1) await say(person, '/pair AAAA-BBBB-CCCC');
      expect((await sessions()) - before).toBe(1);
      expect(await say(person, `/pair ${code}`)).toBeNull();
      return true;
    });
  });

  it('that a crowd guesses at keeps nobody out, and the crowd fills no log', async () => {
    const before = await sessions();
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 30 }, () => say(newPerson(), '/pair AAAA-BBBB-CCCC')));
    const seconds = (performance.now() - startedAt) / 1000;
    // Ten at once, and one more for every second.
    expect((await sessions()) - before).toBeLessThanOrEqual(10 + Math.ceil(seconds));
    const { code } = await newCode('Dora');
    const dora = newPerson();
    await say(dora, `/pair ${code}`);
    expect(await actorOf(await say(dora, 'hello'))).toMatch(/ \(Dora\)$/);
  });

  it('that nobody used is forgotten', async () => {
    const expired = {
      pairing_id: 'old',
      name: 'Old',
      code_digest: 'x',
      expires_at: '2026-01-01T00:00:00.000Z',
    };
    const pairings = new Pairings(ingress.log);
    for (let n = 0; n < 3; n += 1) {
      const { version } = await pairings.read('unused');
      const offered = pairingAppend('unused', version, 'pairing.offered', expired, 'test');
      expect((await ingress.log.append({ streams: [offered] })).status).toBe('appended');
    }
    const read = await pairings.read('unused');
    expect([read.version, read.pairings.size]).toEqual([3, 0]);
  });

  it.each([[{}], [{ name: '' }], [{ name: 'x'.repeat(41) }], [{ name: 'a\nb' }]])(
    'for %j is not made',
    async (body) => {
      const { status } = await apiCall(ingress, '/v1/chats/home/pairings', { method: 'POST', body });
      expect(status).toBe(400);
    },
  );

  it('for a chat that does not exist is not made', async () => {
    const call = { method: 'POST', body: { name: 'Ada' } };
    expect((await apiCall(ingress, '/v1/chats/other/pairings', call)).status).toBe(404);
  });
});

describe('a stranger', () => {
  it('is told one line, however often they write', async () => {
    const stranger = newPerson();
    const before = await sessions();
    for (let n = 0; n < 5; n += 1) await say(stranger, `hello ${n}`);
    expect(await sessions()).toBe(before + 1);
  });

  it('in a group is told nothing unless they speak to us', async () => {
    const before = await sessions();
    await say(newPerson(), 'hello all', -8_008);
    expect(await sessions()).toBe(before);
  });
});

describe('setup', () => {
  it('registers the commands and the webhook with its secret', async () => {
    const { status, body } = await apiCall(ingress, '/v1/chats/home/setup', { method: 'POST' });
    expect([status, body.todo]).toEqual([200, []]);
    expect(telegram.inbox.commands.map(({ command }) => command)).toContain('status');
    expect(telegram.inbox.webhook()).toMatchObject({ url: 'http://127.0.0.1:1/chats/telegram/home' });
    await sendUpdatesTo(telegram, ingress);
  });

  it('that the platform refuses is told in its words, without the token', async () => {
    const answer = { status: 401, body: { ok: false, error_code: 401, description: 'Unauthorized' } };
    telegram.behaveToReads({ kind: 'answer', answer });
    const { status, body } = await apiCall(ingress, '/v1/chats/home/setup', { method: 'POST' });
    telegram.behaveToReads({ kind: 'take' });
    expect([status, body.error]).toEqual([409, expect.stringContaining('401 Unauthorized')]);
    expect(JSON.stringify(body)).not.toContain('test-bot-token');
  });

  it('is listed', async () => {
    const { body } = await apiCall(ingress, '/v1/chats');
    expect(body.items).toEqual([
      {
        name: 'home',
        platform: 'telegram',
        receive: 'webhook',
        enabled: true,
        webhook_url: 'http://127.0.0.1:1/chats/telegram/home',
        connection: null,
      },
    ]);
  });
});

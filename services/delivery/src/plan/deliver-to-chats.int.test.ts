import { buttonData, messageKey, threadKey } from '@angelia/chats';
import type { DeliveryTarget, SessionId } from '@angelia/contracts';
import type { SessionCommand } from '@angelia/session';
import { newSessionId } from '@angelia/sessions';
import { startTelegram, type TelegramStandIn } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DeliveryFixture,
  final,
  openDeliveryFixture,
  type SenderOptions,
  status,
} from '../testing/delivery-fixture.ts';
import { DUPLICATE_MARK } from '../text/cut/chunk.ts';

// What delivery does for chats: receipts by which a reply finds its session, buttons, and the edit that takes them away.

const TOKEN = '123456:telegram-token';

let fixture: DeliveryFixture;
let telegram: TelegramStandIn;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterAll(() => fixture?.close());

beforeEach(async () => {
  telegram = await startTelegram({ token: TOKEN });
});

afterEach(async () => {
  await fixture.closeSenders();
  await telegram.stop();
  expect(telegram.problems).toEqual([]);
});

let chats = 1_000;
/** Tests share a log, so each has chats of its own. */
function newChat(): string {
  chats += 1;
  return `${chats}`;
}

/** Without Telegram's own rate, which would make tests slow. */
function sender(options: SenderOptions = {}) {
  return fixture.sender({
    settings: { telegram: { bot_token: TOKEN, api_base: telegram.url } },
    chats: ['telegram'],
    targets: (targets) => ({
      ...targets,
      find: (name) => {
        const ready = targets.find(name);
        const { limits: _own, ...target } = ready.target;
        return { ...ready, target };
      },
    }),
    ...options,
  });
}

function toChat(chat: string, thread?: string): DeliveryTarget {
  const to = { chat_id: chat, ...(thread === undefined ? {} : { message_thread_id: thread }) };
  return { target: 'telegram', to, untrusted_address: false };
}

const place = (chat: string) => ({ platform: 'telegram' as const, chat, thread: null });

/** The sessions that a key named so far, the current one last. */
async function named(key: string): Promise<unknown[]> {
  return (await fixture.log.streams.read(key)).map(({ data }) => (data as { session_id: string }).session_id);
}

const messageOf = (chat: string, message: number) => named(messageKey(place(chat), `${message}`));
const threadOf = (chat: string, thread: string) => named(threadKey(place(chat), thread));

/** A session whose prompt is its answer, as commands in chats make them. */
async function command(deliver: DeliveryTarget, about: SessionId | null): Promise<SessionId> {
  const id = newSessionId();
  await fixture.put(id, {
    type: 'create-session',
    route: 'chat:home',
    event: 'command',
    deliveryId: `d-${id}`,
    title: 'a command',
    agent: 'default',
    deliver,
    deliverOnly: true,
    about,
    input: 'Here you are.',
  });
  return id;
}

describe('the receipt of a message', () => {
  it('names the session by message and by topic, for each part of a long answer', async () => {
    const chat = newChat();
    const long = `${'x'.repeat(4_000)}\n\n${'y'.repeat(4_000)}`;
    const id = await fixture.answered(long, { deliver: toChat(chat, '42') });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(await messageOf(chat, 1)).toEqual([id]);
    expect(await messageOf(chat, 2)).toEqual([id]);
    // The second part finds the session there already.
    expect(await threadOf(chat, '42')).toEqual([id]);
  });

  it('is appended once for a status that is edited, and again for what follows', async () => {
    const chat = newChat();
    const id = await fixture.running({ deliver: toChat(chat), interim: 'edit' });
    const delivery = sender();
    for (const text of ['one', 'two']) {
      await fixture.put(id, status(text === 'one' ? 1 : 2, text));
      await fixture.hintUntil(delivery, id, fixture.settled(id));
    }
    await fixture.put(id, final('done'));
    await fixture.hintUntil(delivery, id, fixture.settled(id));
    expect(telegram.shownIn(chat)).toEqual(['two', 'done']);
    expect(await messageOf(chat, 1)).toEqual([id]);
    expect(await messageOf(chat, 2)).toEqual([id]);
  });

  it('of many sessions in one topic at once is recorded for all, without a second copy', async () => {
    const chat = newChat();
    const ids = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((text) => fixture.answered(text, { deliver: toChat(chat, '7') })),
    );
    const replicas = [sender({ name: 'delivery' }), sender({ name: 'delivery-2' })] as const;
    await Promise.all(
      ids.map((id, n) => fixture.hintUntil(replicas[(n % 2) as 0 | 1], id, fixture.settled(id))),
    );
    expect([...telegram.shownIn(chat)].sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    const sessions = await threadOf(chat, '7');
    expect([...sessions].sort()).toEqual([...ids].sort());
    for (const { id: message } of telegram.messages) expect(await messageOf(chat, message)).toHaveLength(1);
  });

  it('of a command names the session that it is about, or none', async () => {
    const chat = newChat();
    const about = newSessionId();
    const delivery = sender();
    const said = await command(toChat(chat, '9'), about);
    await fixture.hintUntil(delivery, said, fixture.settled(said));
    const help = await command(toChat(chat, '9'), null);
    await fixture.hintUntil(delivery, help, fixture.settled(help));
    expect(await messageOf(chat, 1)).toEqual([about]);
    expect(await messageOf(chat, 2)).toEqual([]);
    expect(await threadOf(chat, '9')).toEqual([]);
  });

  it('of a group that moved is kept under its new number', async () => {
    const chat = newChat();
    telegram.migrate(chat, -100_777);
    const id = await fixture.answered('moved', { deliver: toChat(chat) });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(await messageOf('-100777', 1)).toEqual([id]);
  });
});

describe('the receipt of a request for approval', () => {
  it('names the request, for /approve below it; the topic names the session alone', async () => {
    const chat = newChat();
    const tools = {
      policy: [{ tool: 'terminal', do: 'ask' as const }],
      ...{ approvers: [], approval_expires_seconds: 3_600 },
    };
    const id = await fixture.running({ deliver: toChat(chat, '7'), tools });
    const call = { id: 'c-1', name: 'terminal', arguments: '{}' };
    await fixture.put(
      id,
      {
        ...{ type: 'record-model-response', generation: 1, step: 1, model: 'm', text: '', toolCalls: [call] },
        ...{ finishReason: 'tool-calls', usage: { input_tokens: 0, output_tokens: 0 } },
      },
      {
        ...{ type: 'request-approval', generation: 1, approvalId: `${id}.1`, callId: 'c-1' },
        ...{ tool: 'terminal', arguments: '{}' },
      },
    );
    const request = (await fixture.sessions.load(id)).version;
    const delivery = sender();
    await fixture.hintUntil(delivery, id, fixture.settled(id));
    await fixture.put(id, { type: 'cancel', by: 'api' });
    await fixture.hintUntil(delivery, id, fixture.settled(id));
    const names = async (key: string) => (await fixture.log.streams.read(key)).map(({ data }) => data);
    expect(await names(messageKey(place(chat), '1'))).toEqual([{ session_id: id, request }]);
    expect(await names(threadKey(place(chat), '7'))).toEqual([{ session_id: id }]);
  });
});

let calls = 0;

/** Asks a question in the open run. Returns the number of the output. */
async function ask(id: SessionId, question: string, choices: readonly string[]): Promise<number> {
  calls += 1;
  const callId = `c${calls}`;
  await fixture.put(
    id,
    {
      type: 'record-model-response',
      generation: 1,
      step: 1,
      model: 'm',
      text: '',
      toolCalls: [{ id: callId, name: 'clarify', arguments: '{}' }],
      finishReason: 'tool-calls',
      usage: { input_tokens: 0, output_tokens: 0 },
    },
    { type: 'start-tool', generation: 1, callId, tool: 'clarify', arguments: '{}' },
    {
      type: 'request-clarification',
      generation: 1,
      clarificationId: 'q-1',
      callId,
      question,
      choices,
      deadline: Date.now() + 3_600_000,
      onTimeout: 'continue',
    },
  );
  return (await fixture.sessions.load(id)).version;
}

describe('a question', () => {
  it('is asked with buttons at its last message', async () => {
    const chat = newChat();
    const id = await fixture.running({ deliver: toChat(chat) });
    const output = await ask(id, `${'x'.repeat(4_000)}\n\nWhich?`, ['Red', 'Blue']);
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.messages.map(({ buttons }) => buttons)).toEqual([
      [],
      [
        ['Red', 'Blue'].map((text, n) => ({
          text,
          callback_data: buttonData({ sessionId: id, output, action: `choice-${n}` }),
        })),
      ],
    ]);
    expect(telegram.shownIn(chat).join()).not.toContain('/answers/');
  });

  it('has no buttons without a chat in the config', async () => {
    const id = await fixture.running({ deliver: toChat(newChat()) });
    await ask(id, 'Which?', ['Red']);
    await fixture.hintUntil(sender({ chats: [] }), id, fixture.settled(id));
    expect(telegram.messages).toMatchObject([{ buttons: [] }]);
    expect((await fixture.deliveryEvents(id))[0]?.data).not.toHaveProperty('buttons');
  });
});

const answer = (text: string): SessionCommand => ({
  type: 'answer-clarification',
  clarificationId: 'q-1',
  answer: text,
  by: 'chat',
});

describe('a question that is closed', () => {
  /** Asked and delivered. */
  async function delivered(question: string, over: Partial<Parameters<typeof fixture.running>[0]> = {}) {
    const chat = newChat();
    const id = await fixture.running({ deliver: toChat(chat), ...over });
    const output = await ask(id, question, ['Red', 'Blue']);
    const delivery = sender();
    await fixture.hintUntil(delivery, id, fixture.settled(id));
    return { chat, id, output, delivery };
  }
  const updates = async (id: SessionId) =>
    (await fixture.deliveryEvents(id)).filter(({ type }) => type.startsWith('delivery.update'));
  const updated = (id: SessionId) => async () =>
    (await updates(id)).some(({ type }) => type === 'delivery.updated');

  it('says who chose what, and its buttons are gone', async () => {
    const { chat, id, output, delivery } = await delivered('Which?');
    await fixture.put(id, answer('Blue'));
    await fixture.hintUntil(delivery, id, updated(id));
    expect(telegram.messages).toMatchObject([{ buttons: [], edits: 1 }]);
    expect(telegram.shownIn(chat)).toEqual(['Which?\n\n1. Red\n2. Blue\n\nAnswered by test: Blue']);
    expect(await updates(id)).toEqual([
      { type: 'delivery.updated', data: { output, result: 'edited', reason: null } },
    ]);
  });

  it('changes in its last message only, if it is long', async () => {
    const { id, delivery } = await delivered(`${'x'.repeat(4_070)}\n\nWhich?`);
    await fixture.put(id, answer('Blue'));
    await fixture.hintUntil(delivery, id, updated(id));
    expect(telegram.messages.map(({ edits, buttons }) => [edits, buttons])).toEqual([
      [0, []],
      [1, []],
    ]);
    expect(telegram.messages[1]?.shown).toMatch(
      /Which\?\n\n1\. Red\n2\. Blue\n\nAnswered by test: Blue\n\n\(2\/2\)$/,
    );
  });

  it('says so in its last message, if that only said how to answer', async () => {
    const { id, delivery } = await delivered(`${'x'.repeat(4_000)}\n\nWhich?`);
    await fixture.put(id, answer('Blue'));
    await fixture.hintUntil(delivery, id, updated(id));
    expect(telegram.messages[0]).toMatchObject({ edits: 0, shown: expect.stringContaining('2. Blue') });
    expect(telegram.messages[1]).toMatchObject({ edits: 1, shown: 'Answered by test: Blue', buttons: [] });
  });

  it('with a message that is full keeps all of its text', async () => {
    const rest = '\n\n1. Red\n2. Blue\n\nChoose below, or reply to this message with an answer of your own.';
    const question = 'x'.repeat(4_096 - DUPLICATE_MARK.length - rest.length);
    const { chat, id, delivery } = await delivered(question);
    expect(telegram.shownIn(chat)).toHaveLength(1);
    await fixture.put(id, answer('y'.repeat(200)));
    await fixture.hintUntil(delivery, id, updated(id));
    expect(telegram.shownIn(chat)).toEqual([`${question}\n\n1. Red\n2. Blue\n\nAnswered.`]);
  });

  it('is edited again after a crash between edit and record, and by two replicas at once: nothing changes', async () => {
    const { id, delivery } = await delivered('Which?');
    await fixture.put(id, answer('Blue'));
    // What a sender that died did.
    telegram.next({ kind: 'cut-off' });
    const other = sender({ name: 'delivery-2' });
    await Promise.all([delivery, other].map((one) => fixture.hintUntil(one, id, updated(id))));
    expect(telegram.messages).toMatchObject([{ buttons: [], edits: 1 }]);
    expect((await updates(id)).filter(({ type }) => type === 'delivery.updated')).toHaveLength(1);
  });

  it('is tried again while the platform is down, which holds back no answer; then given up, once', async () => {
    const { chat, id, delivery } = await delivered('Which?');
    await fixture.put(id, answer('Blue'));
    const down = { kind: 'answer', answer: { status: 502, body: '' } } as const;
    telegram.next(down, down, down);
    await fixture.hintUntil(delivery, id, updated(id));
    expect(await updates(id)).toMatchObject([
      { type: 'delivery.update-failed', data: { counts: true } },
      { type: 'delivery.update-failed', data: { counts: true } },
      { type: 'delivery.updated', data: { result: 'given-up' } },
    ]);
    await fixture.put(
      id,
      { type: 'start-run', generation: 2, turn: 1, runner: 'r', resumed: true, attempt: 1, takeover: false },
      final('done', 2),
    );
    await fixture.hintUntil(delivery, id, fixture.settled(id));
    expect(telegram.shownIn(chat)[1]).toBe('done');
  });

  it('waits behind the answer, and comes after it', async () => {
    const { id, delivery } = await delivered('Which?');
    await fixture.put(
      id,
      answer('Blue'),
      { type: 'start-run', generation: 2, turn: 1, runner: 'r', resumed: true, attempt: 1, takeover: false },
      final('done', 2),
    );
    await fixture.hintUntil(delivery, id, updated(id));
    expect((await fixture.types(id)).slice(-2)).toEqual(['delivery.succeeded', 'delivery.updated']);
  });

  it('whose message somebody deleted is over', async () => {
    const { id, delivery } = await delivered('Which?');
    telegram.delete(1);
    await fixture.put(id, answer('Blue'));
    await fixture.hintUntil(delivery, id, updated(id));
    expect(await updates(id)).toMatchObject([{ data: { result: 'gone' } }]);
  });

  it('by the end of its session says so', async () => {
    const { chat, id, delivery } = await delivered('Which?');
    await fixture.put(id, { type: 'cancel', by: 'api' });
    await fixture.hintUntil(delivery, id, updated(id));
    expect(telegram.shownIn(chat)[0]).toMatch(/Closed: the session has ended\.$/);
  });
});

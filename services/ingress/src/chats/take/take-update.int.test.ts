import { randomBytes } from 'node:crypto';
import { buttonData, messageKey, threadKey } from '@angelia/chats';
import { type RecordedEvent, sessionId } from '@angelia/contracts';
import { newEventId, newSessionId } from '@angelia/sessions';
import { createTestDatabase, eventually, type TelegramStandIn, type TestDatabase } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import {
  sendUpdatesTo,
  startTestTelegram,
  TELEGRAM_SECRET,
  takenUpdate,
  telegramConfig,
} from '../../testing/telegram-chat.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

// Updates come in by the webhook, from the stand-in. A worker does what runner and delivery do.

const ADA = 1_001;
const BOB = 1_002;
const GROUP = -2_002;

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;
let telegram: TelegramStandIn;
let nextChat = 10_000;

beforeAll(async () => {
  database = await createTestDatabase();
  telegram = await startTestTelegram();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: {
      ...telegramConfig(telegram, {
        speakers: { users: [ADA], chats: [GROUP] },
        files: { deliver: true, max_bytes: 1_000, types: ['text/csv', 'Image/PNG'] },
      }),
      agents: {
        default: {
          model: 'demo',
          toolsets: ['terminal'],
          tools: { policy: [{ tool: 'terminal', do: 'ask' }], approvers: [`telegram:${ADA}`] },
        },
      },
    },
    env: { ANGELIA_MASTER_KEY: randomBytes(32).toString('base64') },
  });
  worker = openWorker({ databaseUrl: database.url });
  await sendUpdatesTo(telegram, ingress);
});
afterAll(async () => {
  await telegram?.stop();
  await worker?.close();
  await ingress?.close();
  await database?.drop();
  expect(telegram?.problems).toEqual([]);
});

const taken = (update: { readonly update_id: number }) => takenUpdate(telegram, ingress, update);

/** A private chat of Ada's. Tests have one each. */
async function say(chat: number, text: string, more: object = {}): Promise<string> {
  const id = await taken(telegram.inbox.say({ chat, from: { id: ADA, first_name: 'Ada' }, text, ...more }));
  if (id === null) throw new Error(`"${text}" started nothing`);
  return id;
}

const newChat = () => {
  nextChat += 1;
  return nextChat;
};
const eventsOf = (id: string): Promise<RecordedEvent[]> => ingress.log.streams.read(id);
const typesOf = async (id: string) => (await eventsOf(id)).map(({ type }) => type);
const inputsOf = async (id: string) =>
  (await eventsOf(id))
    .filter(({ type }) => type === 'turn.requested')
    .map(({ data }) => (data as { input: string }).input);
const answerText = async (id: string) => (await inputsOf(id))[0] ?? '';

/** What delivery appends with a receipt. */
async function delivered(session: string, key: string, request?: number): Promise<void> {
  const head = await ingress.log.streams.readHead(key);
  const event = {
    ...{ eventId: newEventId(), type: 'key.session-opened', data: { session_id: session, request } },
    meta: { actor: 'delivery', correlation: session },
  };
  await ingress.log.append({
    streams: [{ streamId: key, expectedVersion: head?.version ?? 0, events: [event] }],
  });
}
const place = (chat: number, thread: string | null = null) =>
  ({ platform: 'telegram', chat: String(chat), thread }) as const;

describe('a request for approval', () => {
  /** What the one who clicked is told. */
  async function clicks(person: number, data: string, chat = GROUP, name = 'A'): Promise<string> {
    const from = { id: person, first_name: name };
    const update = telegram.inbox.click({ chat, from, message: 1, data });
    const { id } = (update as unknown as { callback_query: { id: string } }).callback_query;
    return eventually(() => telegram.inbox.acknowledged.get(id));
  }

  async function asks(id: string, number = 1, written = '{}'): Promise<number> {
    await worker.asksFor(id, 'terminal', `call-${number}`);
    const { version } = await worker.does(id, ({ generation }) => ({
      ...{ type: 'request-approval', generation, approvalId: `${id}.${number}`, callId: `call-${number}` },
      ...{ tool: 'terminal', arguments: written },
    }));
    return version;
  }
  const decisionsOf = async (id: string) =>
    (await eventsOf(id)).flatMap(({ type, data }) => (type === 'approval.decided' ? [data] : []));

  it('is approved by a reply to it with /approve, because another one may wait by now', async () => {
    const chat = newChat();
    const id = await say(chat, 'in private');
    await asks(id);
    await delivered(id, messageKey(place(chat), '70'));
    expect(await answerText(await say(chat, '/approve'))).toContain('Reply to the request');
    // Nor in a topic that has no session of its own.
    expect(await answerText(await say(chat, '/approve', { topic: 77 }))).toContain('Reply to the request');
    expect(await decisionsOf(id)).toEqual([]);
    expect(await say(chat, '/approve', { replyTo: 70 })).toBe(id);
    expect(await decisionsOf(id)).toMatchObject([{ decision: 'approve', actor: `telegram:${ADA}` }]);
  });

  it('is not approved by a reply to an earlier one: that is closed, and says who decided', async () => {
    const chat = newChat();
    const id = await say(chat, 'in private');
    await delivered(id, messageKey(place(chat), '70'), await asks(id, 1, '{"command":"ls"}'));
    expect(await say(chat, '/deny', { replyTo: 70 })).toBe(id);
    await delivered(id, messageKey(place(chat), '71'), await asks(id, 2, '{"command":"rm -rf ~"}'));
    expect(await answerText(await say(chat, '/approve', { replyTo: 70 }))).toMatch(
      /^This request is closed: telegram:1001 denied it at /,
    );
    expect(await decisionsOf(id)).toHaveLength(1);
    expect(await say(chat, '/approve', { replyTo: 71 })).toBe(id);
    expect(await decisionsOf(id)).toMatchObject([
      { decision: 'deny', approval_id: `${id}.1` },
      { decision: 'approve', approval_id: `${id}.2` },
    ]);
  });

  it('is not approved by a reply if its message shows only a part of it, and may be denied', async () => {
    const chat = newChat();
    const id = await say(chat, 'in private');
    const request = await asks(id, 1, JSON.stringify({ command: `true ${'x'.repeat(2_000)}; rm -rf ~` }));
    await delivered(id, messageKey(place(chat), '70'), request);
    for (const said of ['/approve', '/approve 1']) {
      expect(await answerText(await say(chat, said, { replyTo: 70 }))).toContain(
        'shows only a part of this call',
      );
    }
    expect(await decisionsOf(id)).toEqual([]);
    expect(await say(chat, '/deny', { replyTo: 70 })).toBe(id);
    expect(await decisionsOf(id)).toMatchObject([{ decision: 'deny' }]);
  });

  it('after the first is approved by its number in a thread, where nobody replies to one message', async () => {
    const id = await say(GROUP, 'in ten @stand_in_bot', { topic: 10 });
    await delivered(id, threadKey(place(GROUP), '10'));
    await asks(id);
    // The id of a session is no number of a request, not even its own.
    expect(await answerText(await say(GROUP, `/approve@stand_in_bot ${id}`, { topic: 10 }))).toContain(
      '`/approve 1`',
    );
    expect(await say(GROUP, '/approve@stand_in_bot', { topic: 10 })).toBe(id);
    await asks(id, 2, '{"command":"echo ```"}');
    for (const said of ['/approve@stand_in_bot', '/approve@stand_in_bot 1']) {
      const told = await answerText(await say(GROUP, said, { topic: 10 }));
      expect(told).toContain('````\necho ```\n````');
      expect(told).toContain('`/approve 2` approves it');
    }
    expect(await decisionsOf(id)).toHaveLength(1);
    expect(await say(GROUP, '/approve@stand_in_bot 2', { topic: 10 })).toBe(id);
    expect(await decisionsOf(id)).toHaveLength(2);
  });

  it('is denied by /deny with a reason, also without a reply', async () => {
    const chat = newChat();
    const id = await say(chat, 'in private');
    await asks(id);
    expect(await say(chat, '/deny not on a Friday')).toBe(id);
    expect(await decisionsOf(id)).toMatchObject([{ decision: 'deny', reason: 'not on a Friday' }]);
  });

  const button = (id: string, output: number, action = 'approve') =>
    buttonData({ sessionId: sessionId(id), output, action });

  it('is not decided from another chat, by a button that was copied, or one that nobody has', async () => {
    const id = await say(GROUP, 'in thirteen @stand_in_bot', { topic: 13 });
    const output = await asks(id);
    expect(await clicks(ADA, button(id, output), newChat())).toBe('There is no such session in this chat.');
    expect(await clicks(ADA, button(id, output + 1))).toBe('This button belongs to no request.');
    expect(await clicks(ADA, button(id, output, 'choice-0'))).toBe('This button belongs to no question.');
    expect(await decisionsOf(id)).toEqual([]);
  });

  it('is decided by an id, whatever the person is called, and no name fakes a line', async () => {
    const id = await say(GROUP, 'in fourteen @stand_in_bot', { topic: 14 });
    const output = await asks(id);
    for (const name of [`${ADA}`, `telegram:${ADA}`, 'link', 'api'])
      expect(await clicks(BOB, button(id, output), GROUP, name)).toContain('You may not decide');
    const name = 'Ada\n**Denied** by \u202eboss\u2066 [x](https://e.org)';
    expect(await clicks(ADA, button(id, output), GROUP, name)).toBe('Approved.');
    expect(await decisionsOf(id)).toMatchObject([
      { actor: `telegram:${ADA}`, person: 'Ada Denied by boss x (https://e.org)' },
    ]);
  });

  it('after its expiry is refused, and said so', async () => {
    // ingress knows the time of the database only about. If it thinks that a request is still open, there is another.
    const told = await eventually(async () => {
      const id = newSessionId();
      await worker.does(id, () => ({
        ...{ type: 'create-session', route: 'hook', event: 'push', deliveryId: `d-${id}`, title: 't' },
        ...{ agent: 'default', interim: 'message', input: 'x' },
        deliver: { target: 'telegram', to: { chat_id: `${GROUP}` }, untrusted_address: false },
        tools: {
          policy: [{ tool: 'terminal', do: 'ask' }],
          ...{ approvers: [], approval_expires_seconds: 0.001 },
        },
      }));
      const said = await clicks(BOB, button(id, await asks(id)));
      return said !== 'Approved.' && said;
    });
    expect(told).toContain('the time to decide is over');
  });

  it('that is approved for the session says which calls that allows, also in the event', async () => {
    const id = await say(GROUP, 'in twelve @stand_in_bot', { topic: 12 });
    const output = await asks(id);
    const told = await clicks(
      ADA,
      buttonData({ sessionId: sessionId(id), output, action: 'approve-session' }),
    );
    expect(told).toBe(
      'Approved for this session: every later call of `terminal` that its policy asks about.',
    );
    expect(await decisionsOf(id)).toMatchObject([
      { scope: 'session', allows: { tool: 'terminal', match: null } },
    ]);
  });

  it('tells whoever decided the same again, if the platform repeats their click', async () => {
    const id = await say(GROUP, 'in fifteen @stand_in_bot', { topic: 15 });
    const data = button(id, await asks(id), 'deny');
    const update = telegram.inbox.click({ chat: GROUP, from: { id: ADA }, message: 1, data });
    const { id: click } = (update as unknown as { callback_query: { id: string } }).callback_query;
    expect(await eventually(() => telegram.inbox.acknowledged.get(click))).toBe('Denied.');
    telegram.inbox.acknowledged.clear();
    expect(await telegram.inbox.repeat(update)).toBe(200);
    expect(await eventually(() => telegram.inbox.acknowledged.get(click))).toBe('Denied.');
    expect(await decisionsOf(id)).toHaveLength(1);
  });

  it('is decided by its approvers alone, by id, and once; everybody is told', async () => {
    const id = await say(GROUP, 'in nine @stand_in_bot', { topic: 9 });
    const output = await asks(id);
    const button = (action: string) => buttonData({ sessionId: sessionId(id), output, action });
    expect(await clicks(BOB, button('approve'))).toContain('You may not decide');
    const told = await Promise.all([clicks(ADA, button('approve')), clicks(ADA, button('deny'))]);
    expect(await clicks(BOB, button('deny'))).toMatch(
      /^This request is closed: telegram:1001 (approved|denied) it at /,
    );
    const decisions = (await eventsOf(id)).filter(({ type }) => type === 'approval.decided');
    expect(decisions).toMatchObject([
      { data: { actor: `telegram:${ADA}`, way: 'chat' }, meta: { actor: `chat:telegram:${ADA}` } },
    ]);
    const { decision = '' } = (decisions[0]?.data ?? {}) as { decision?: string };
    expect(told.filter((text) => /^(Approved|Denied)\.$/.test(text))).toEqual([
      decision === 'approve' ? 'Approved.' : 'Denied.',
    ]);
    expect(told).toContainEqual(expect.stringContaining('This request is closed: telegram:1001'));
  });
});

it('a click on a long choice is acknowledged, wherever its text is cut', async () => {
  const chat = newChat();
  const id = await say(chat, 'in private');
  await worker.asksFor(id, 'clarify', 'call-1');
  const choice = `${'x'.repeat(188)}😀`;
  const { version: output } = await worker.does(id, ({ generation }) => ({
    ...{ type: 'request-clarification', generation, clarificationId: 'question-1', callId: 'call-1' },
    ...{ question: 'Which?', choices: [choice], deadline: Date.now() + 3_600_000, onTimeout: 'end' },
  }));
  const data = buttonData({ sessionId: sessionId(id), output, action: 'choice-0' });
  const update = telegram.inbox.click({ chat, from: { id: ADA }, message: 1, data });
  const { id: click } = (update as unknown as { callback_query: { id: string } }).callback_query;
  expect(await eventually(() => telegram.inbox.acknowledged.get(click))).toMatch(/^You chose: x+\ufffd$/);
});

describe('a conversation', () => {
  it('begins with a message, whose session has the config of the chat, its actor and its address', async () => {
    const chat = newChat();
    const id = await say(chat, 'What is 6 times 7?');
    const [created, turn] = await eventsOf(id);
    expect(created).toMatchObject({
      type: 'session.created',
      data: {
        route: 'chat:home',
        event: 'message',
        title: 'What is 6 times 7?',
        agent: 'default',
        deliver: { target: 'telegram', to: { chat_id: String(chat) } },
        deliver_files: { max_bytes: 1_000, types: ['text/csv', 'image/png'] },
      },
      meta: { actor: `chat:telegram:${ADA}` },
    });
    expect(turn?.data).toMatchObject({ source: 'message', input: 'What is 6 times 7?' });
  });

  it('goes on while its session is open: ten messages in order, one of them told that they wait', async () => {
    const chat = newChat();
    const id = await say(chat, 'first');
    await worker.startsRun(id);
    const more = Array.from({ length: 10 }, (_, n) => `message ${n}`);
    const updates = more.map((text) => telegram.inbox.say({ chat, from: { id: ADA }, text }));
    for (const update of updates) expect(await taken(update)).toBe(id);
    expect(await inputsOf(id)).toEqual(['first', ...more]);
    const statuses = (await eventsOf(id)).filter(({ type }) => type === 'session.interim-status');
    expect(statuses.map(({ data }) => data)).toEqual([
      expect.objectContaining({ kind: 'queued', turn: 1, text: expect.stringContaining('“first” is done') }),
    ]);
  });

  it('goes on in a continuation after its session has ended', async () => {
    const chat = newChat();
    const id = await say(chat, 'first');
    await worker.answers(id, 'done');
    const next = await say(chat, 'second');
    expect(next).not.toBe(id);
    expect((await eventsOf(next))[0]?.data).toMatchObject({ continues: id, title: 'first' });
  });

  it('starts afresh after /new, under its title, while the old session can still be resumed', async () => {
    const chat = newChat();
    const old = await say(chat, 'first');
    await worker.answers(old, 'done');
    await say(chat, '/new A better plan');
    const fresh = await say(chat, 'begin');
    expect((await eventsOf(fresh))[0]?.data).toMatchObject({ continues: null, title: 'A better plan' });
    await worker.answers(fresh, 'done');
    const resumed = await say(chat, `/resume ${old}`);
    expect((await eventsOf(resumed))[0]?.data).toMatchObject({ continues: old, title: 'first' });
  });

  it('has a session per topic', async () => {
    const one = await say(GROUP, 'in seven @stand_in_bot', { topic: 7 });
    const two = await say(GROUP, 'in eight @stand_in_bot', { topic: 8 });
    expect(one).not.toBe(two);
    expect((await eventsOf(one))[0]?.data).toMatchObject({
      deliver: { to: { chat_id: String(GROUP), message_thread_id: 7 } },
    });
    expect(await inputsOf(one)).toEqual(['Ada: in seven']);
  });
});

describe('a reply', () => {
  /** A session that a webhook could have made, delivered into the chat as message 55. */
  async function session(chat: number, thread: string | null = null): Promise<string> {
    const id = await say(chat, 'a report');
    await delivered(id, messageKey(place(chat, thread), '55'));
    await say(chat, '/new');
    return id;
  }

  it('is the next turn of its session, or answers its open question', async () => {
    const chat = newChat();
    const id = await session(chat);
    expect(await say(chat, 'more', { replyTo: 55 })).toBe(id);
    expect(await inputsOf(id)).toEqual(['a report', 'more']);

    const asking = newChat();
    const asked = await session(asking);
    await worker.asks(asked, 'Which one?');
    expect(await say(asking, 'the blue one', { replyTo: 55 })).toBe(asked);
    expect((await eventsOf(asked)).at(-1)).toMatchObject({
      type: 'clarification.answered',
      data: { answer: 'the blue one', by: 'chat', person: 'Ada' },
    });
  });

  it('to an ended session opens a continuation', async () => {
    const chat = newChat();
    const id = await session(chat);
    await worker.answers(id, 'done');
    const next = await say(chat, 'more', { replyTo: 55 });
    expect((await eventsOf(next))[0]?.data).toMatchObject({ continues: id });
  });

  it('to a message that nobody knows is said in the conversation', async () => {
    const chat = newChat();
    const id = await session(chat);
    expect(await say(chat, 'hello', { replyTo: 56 })).not.toBe(id);
  });

  it('in a group needs no mention; other messages do', async () => {
    const id = await say(GROUP, 'a report @stand_in_bot', { topic: 11 });
    await delivered(id, messageKey(place(GROUP), '77'));
    await delivered(id, threadKey(place(GROUP), '11'));
    expect(await say(GROUP, 'and this', { topic: 11, replyTo: 77 })).toBe(id);
    // Its session was pruned, or it has no receipt yet. It is a message of ours all the same.
    expect(await say(GROUP, 'and that', { topic: 11, replyTo: 78 })).toBe(id);
    expect(
      await taken(telegram.inbox.say({ chat: GROUP, from: { id: ADA }, text: 'chatter', topic: 11 })),
    ).toBeNull();
    expect(await inputsOf(id)).toEqual(['Ada: a report', 'Ada: and this', 'Ada: and that']);
  });
});

describe('who may not speak', () => {
  it.each([
    ['a stranger', { chat: 5_005, text: 'hello' }],
    ['a stranger with a command', { chat: 5_005, text: '/status' }],
    ['a bot', { chat: 1_001, from: { id: ADA, is_bot: true }, text: 'hello' }],
    ['a forwarded command', { chat: 1_001, from: { id: ADA }, text: '/stop', forwarded: true }],
    ['a command to another bot', { chat: GROUP, from: { id: ADA }, text: '/status@other_bot' }],
    [
      'a channel',
      { chat: GROUP, from: { id: ADA }, text: 'x', more: { sender_chat: { id: -5, type: 'channel' } } },
    ],
    [
      'a message of last week',
      { chat: 1_001, from: { id: ADA }, text: 'old', more: { date: 1_700_000_000 } },
    ],
  ])('%s starts nothing', async (_, said) => {
    expect(await taken(telegram.inbox.say(said))).toBeNull();
  });

  it('an edited message starts nothing', async () => {
    await telegram.inbox.call('setWebhook', {
      url: `${ingress.baseUrl}/chats/telegram/home`,
      secret_token: TELEGRAM_SECRET,
      allowed_updates: ['message', 'edited_message', 'callback_query'],
    });
    const message = {
      message_id: 3,
      date: 1,
      chat: { id: 1_001, type: 'private' },
      from: { id: ADA, is_bot: false, first_name: 'A' },
      text: 'x',
    };
    expect(await taken(telegram.inbox.push({ edited_message: message }))).toBeNull();
  });

  it('a repeated update starts nothing, however often it comes', async () => {
    const update = telegram.inbox.say({ chat: newChat(), from: { id: ADA }, text: 'once' });
    const id = await taken(update);
    const again = await Promise.all(Array.from({ length: 10 }, () => telegram.inbox.repeat(update)));
    expect(again).toEqual(Array(10).fill(200));
    expect(await inputsOf(id ?? '')).toEqual(['once']);
  });
});

describe('a command', () => {
  it('/status shows the full id, title and state; the id resumes', async () => {
    const chat = newChat();
    const id = await say(chat, 'Count the sheep');
    const running = await answerText(await say(chat, '/status'));
    expect(running).toContain(id);
    expect(running).toContain('Count the sheep');
    expect(running).toContain('State: queued');
    await worker.answers(id, 'done');
    expect(await answerText(await say(chat, '/status'))).toContain('ended, succeeded');
    const resumed = await say(chat, `/resume ${id}`);
    expect((await eventsOf(resumed))[0]?.data).toMatchObject({ continues: id });
  });

  it('is answered by a session of its own, which delivery sends and which is about the session', async () => {
    const chat = newChat();
    const id = await say(chat, 'work');
    const answer = await say(chat, '/status');
    expect(await typesOf(answer)).toEqual([
      'session.created',
      'turn.requested',
      'session.final-response',
      'session.ended',
    ]);
    expect((await eventsOf(answer))[0]?.data).toMatchObject({
      ...{ route: 'chat:home', event: 'command', deliver_only: true, about: id },
      deliver: { target: 'telegram', to: { chat_id: String(chat) } },
    });
  });

  it('/stop ends the session and says so in the same append', async () => {
    const chat = newChat();
    const id = await say(chat, 'work');
    expect(await say(chat, '/stop')).toBe(id);
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      type: 'session.ended',
      data: { outcome: 'cancelled', detail: `cancelled by chat:telegram:${ADA}` },
    });
    expect(ingress.pings).toContain(`angelia.cancel.${id}`);
    expect(await answerText(await say(chat, '/stop'))).toContain('has ended already');
  });

  it('/stop says how many messages that waited are not read', async () => {
    const chat = newChat();
    const id = await say(chat, 'work');
    await worker.startsRun(id);
    for (const text of ['and this', 'and that']) await say(chat, text);
    await say(chat, '/stop');
    await viewsUpToDate(database);
    const deliver = { target: 'telegram', to: { chat_id: String(chat) } };
    const { items } = await ingress.log.lists.sessions({ created: { deliver, deliverOnly: true }, limit: 1 });
    expect(await answerText(items[0]?.sessionId ?? '')).toBe(
      'I have stopped “work”. 2 messages that waited are not read. /resume continues it.',
    );
  });

  it('/retry asks the last question again', async () => {
    const chat = newChat();
    const id = await say(chat, 'try this');
    expect(await answerText(await say(chat, '/retry'))).toContain('still at work');
    await worker.answers(id, 'no luck');
    const again = await say(chat, '/retry');
    expect(await inputsOf(again)).toEqual(['try this']);
    expect((await eventsOf(again))[0]?.data).toMatchObject({ continues: id });
  });

  it('/retry asks it again after /resume, which asked nothing itself', async () => {
    const chat = newChat();
    await worker.answers(await say(chat, 'try that'), 'no luck');
    for (const _ of [1, 2]) await worker.answers(await say(chat, '/resume'), 'no luck again');
    expect(await inputsOf(await say(chat, '/retry'))).toEqual(['try that']);
  });

  it('sees no session of another chat', async () => {
    const id = await say(newChat(), 'private');
    const other = newChat();
    for (const command of ['status', 'stop', 'resume', 'retry']) {
      expect(await answerText(await say(other, `/${command} ${id}`))).toContain('no session with this id');
    }
    expect(await typesOf(id)).toEqual(['session.created', 'turn.requested']);
  });

  it('/sessions lists those of this chat alone', async () => {
    const [one, two] = [newChat(), newChat()];
    const [first, second] = [await say(one, 'the first'), await say(two, 'the second')];
    await viewsUpToDate(database);
    const listed = await answerText(await say(one, '/sessions'));
    expect(listed).toContain(first);
    expect(listed).not.toContain(second);
  });

  it('/help lists all nine; an unknown one says where to look', async () => {
    const help = await answerText(await say(newChat(), '/help'));
    for (const name of ['status', 'stop', 'resume', 'new', 'sessions', 'retry', 'approve', 'deny', 'help']) {
      expect(help).toContain(`/${name} `);
    }
    expect(await answerText(await say(newChat(), '/hepl'))).toContain('/help lists the commands');
  });
});

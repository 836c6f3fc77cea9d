import { type PlatformBehaviour, startTelegram, type TelegramStandIn } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SendRequest, Target } from '../target.ts';
import { outputMessage, requestsFor, windowOf } from '../testing/contract.ts';
import { telegramTarget } from './telegram.ts';

const token = '123456:ABC-secret';
let telegram: TelegramStandIn;
let target: Target;

beforeEach(async () => {
  telegram = await startTelegram({ token });
  target = telegramTarget();
});

afterEach(async () => {
  await target.close();
  await telegram.stop();
  expect(telegram.problems).toEqual([]);
});

function request(
  text: string,
  to: Readonly<Record<string, unknown>> = { chat_id: '7' },
  over: Partial<SendRequest> = {},
): SendRequest {
  const settings = { bot_token: token, api_base: telegram.url };
  const [first] = requestsFor({ target, settings, to }, outputMessage(text), over);
  if (first === undefined) throw new Error('no chunk');
  return first;
}

const answered = (status: number, body: unknown, headers = {}) => ({
  kind: 'answer' as const,
  answer: { status, body, headers },
});

it('sends HTML, or plain text if there is no markup, to the chat and its topic, by either name, without previews', async () => {
  expect(await target.send(request('**a** < b', { chat_id: '-1001', message_thread_id: '42' }))).toEqual({
    kind: 'taken',
    receipt: '-1001/1',
  });
  await target.send(request('c "d" < e', { chat_id: '@channel', thread_id: '43' }));
  expect(telegram.requests.map(({ path, body }) => ({ path, body }))).toEqual([
    {
      path: `/bot${token}/sendMessage`,
      body: {
        chat_id: '-1001',
        message_thread_id: 42,
        text: '<b>a</b> &lt; b',
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true },
      },
    },
    {
      path: `/bot${token}/sendMessage`,
      body: {
        chat_id: '@channel',
        message_thread_id: 43,
        text: 'c "d" < e',
        link_preview_options: { is_disabled: true },
      },
    },
  ]);
});

describe('buttons', () => {
  const button = (label: string) => ({ label, data: `data of ${label}` });
  const asking = (text: string, ...labels: string[]) =>
    requestsFor(
      { target, settings: { bot_token: token, api_base: telegram.url }, to: { chat_id: '7' } },
      outputMessage(text, { buttons: labels.map(button) }),
    );

  it('are an inline keyboard whose rows fit a phone', async () => {
    for (const one of asking('Which?', 'Red', 'Blue', 'Green', 'Pink', 'x'.repeat(40)))
      await target.send(one);
    const rows = telegram.messages[0]?.buttons.map((row) => row.map(({ text }) => text));
    expect(rows).toEqual([['Red', 'Blue', 'Green'], ['Pink'], ['x'.repeat(40)]]);
    expect(telegram.messages[0]?.buttons[1]).toEqual([{ text: 'Pink', callback_data: 'data of Pink' }]);
  });

  it('are at the last message of a long text, and an edit without them takes them away', async () => {
    for (const one of asking(`${'x'.repeat(4_000)}\n\n${'y'.repeat(4_000)}`, 'Red'))
      await target.send({ ...one, window: windowOf() });
    expect(telegram.messages.map(({ buttons }) => buttons.length)).toEqual([0, 1]);
    await target.edit?.(request('answered'), '7/2');
    expect(telegram.messages[1]).toMatchObject({ shown: 'answered', buttons: [] });
  });

  it('move with a group that became a supergroup', async () => {
    telegram.migrate('7', -10_015);
    for (const one of asking('Which?', 'Red')) await target.send(one);
    expect(telegram.messages).toMatchObject([{ chatId: '-10015', buttons: [[{ text: 'Red' }]] }]);
  });
});

it('shows in the chat and topic that it is typing, and says if it may not', async () => {
  await target.typing?.(request('x', { chat_id: '7', thread_id: '42' }));
  expect(telegram.actions).toEqual([{ chatId: '7', threadId: 42, action: 'typing' }]);
  await expect(target.typing?.(request('x', { chat_id: '403' }))).rejects.toThrow('did not take');
});

it('says where a message stands, for replies to it', () => {
  const placeOf = (receipt: string, to: Record<string, unknown>) =>
    target.placeOf?.(receipt, { to, untrusted: false, untrustedHost: false });
  expect(placeOf('-10015/3', { chat_id: '-5', thread_id: '42' })).toEqual({
    platform: 'telegram',
    chat: '-10015',
    thread: '42',
    message: '3',
  });
  expect(placeOf('7/3', { chat_id: '7' })).toMatchObject({ chat: '7', thread: null });
  expect(placeOf('nonsense', { chat_id: '7' })).toBeNull();
});

it('keeps a token with any characters in its segment of the path', async () => {
  const odd = '1:a b/../c?d#e%2F';
  const other = await startTelegram({ token: encodeURIComponent(odd).replace('%3A', ':') });
  const settings = { bot_token: odd, api_base: other.url };
  expect(await target.send({ ...request('x'), settings })).toMatchObject({ kind: 'taken' });
  await other.stop();
});

it('sends plain text in the same attempt if Telegram cannot parse the markup', async () => {
  telegram.refuseMarkup();
  const result = await target.send(request('**a** [b](https://e.org) @everyone', { chat_id: '7' }));
  expect(result).toMatchObject({ kind: 'taken' });
  expect(telegram.messages).toMatchObject([
    { shown: 'a b (https://e.org) @\u2060everyone', parseMode: null },
  ]);
  const edited = await target.edit?.(request('**c**'), '7/1');
  expect(edited).toMatchObject({ kind: 'taken' });
  expect(telegram.shownIn('7')).toEqual(['c']);
});

it('follows a group that became a supergroup, in the same attempt', async () => {
  telegram.migrate('-5', -10_015);
  expect(await target.send(request('moved', { chat_id: '-5' }))).toEqual({
    kind: 'taken',
    receipt: '-10015/1',
  });
  expect(telegram.shownIn('-10015')).toEqual(['moved']);
});

it('leaves room for the mark in a message of the maximum length', async () => {
  const chunks = requestsFor(
    { target, settings: { bot_token: token, api_base: telegram.url }, to: { chat_id: '7' } },
    outputMessage(`${'x'.repeat(4_075)}\n\n${'<'.repeat(3_000)}`),
    { markDuplicate: true },
  );
  expect(chunks.length).toBeGreaterThan(2);
  for (const chunk of chunks)
    expect(await target.send({ ...chunk, window: windowOf() })).toMatchObject({ kind: 'taken' });
  expect(telegram.shownIn('7').every((text) => text.startsWith('(possible duplicate) '))).toBe(true);
});

describe('an answer of Telegram', () => {
  it.each([
    [{ chat_id: '403' }, 'Forbidden: bot was blocked by the user'],
    [{ chat_id: '404' }, 'Bad Request: chat not found'],
    [{ chat_id: '7', message_thread_id: '404' }, 'Bad Request: message thread not found'],
  ])('for %j is permanent, in its own words', async (to, words) => {
    const result = await target.send(request('x', to));
    expect(result).toMatchObject({ kind: 'permanent', reason: expect.stringContaining(words) });
    expect(telegram.messages).toEqual([]);
  });

  it.each(['123456:wrong', 'wrong'])(
    'about the token %s is retryable, and does not repeat the token',
    async (wrong) => {
      const settings = { bot_token: wrong, api_base: telegram.url };
      const result = await target.send({ ...request('x'), settings });
      expect(result).toMatchObject({
        kind: 'retryable',
        reason: expect.stringContaining('bot_token was refused'),
      });
      expect(JSON.stringify(result)).not.toContain(wrong);
    },
  );

  it('with a rate limit says how long to wait; the body wins over the header', async () => {
    telegram.next(
      answered(429, { ok: false, parameters: { retry_after: 35 } }, { 'retry-after': '3' }),
      answered(429, {}, { 'retry-after': '4' }),
      answered(429, 'no JSON'),
    );
    const waits = [];
    for (let round = 0; round < 3; round += 1) waits.push(await target.send(request('x')));
    expect(waits).toMatchObject([
      { kind: 'retryable', retryAfterSeconds: 35, scope: 'chat' },
      { kind: 'retryable', retryAfterSeconds: 4 },
      { kind: 'retryable', retryAfterSeconds: 5 },
    ]);
  });

  it('from a gateway that gave up leaves the outcome unknown', async () => {
    telegram.next(answered(504, '<html>'));
    expect(await target.send(request('x'))).toMatchObject({ kind: 'unknown' });
  });

  it.each([500, 502, 503])(
    'with %i while it is down is retried as often as the schedule says',
    async (status) => {
      telegram.next(answered(status, '<html>'));
      expect(await target.send(request('x'))).toMatchObject({ kind: 'retryable' });
    },
  );

  it.each<[string, PlatformBehaviour]>([
    ['cannot be read', { kind: 'garbled' }],
    ['is empty', answered(200, '')],
    ['says little', answered(200, {})],
    ['says little more', answered(201, { ok: true })],
  ])('with 2xx means that it has the message, even if the rest %s', async (_, behaviour) => {
    telegram.next(behaviour);
    expect(await target.send(request('x'))).toEqual({ kind: 'taken', receipt: null });
  });

  it('gives a receipt for an edit, even if it does not name the chat', async () => {
    telegram.next(answered(200, { ok: true, result: { message_id: 5 } }));
    expect(await target.send(request('x', { chat_id: 'home' }))).toEqual({
      kind: 'taken',
      receipt: 'home/5',
    });
  });
});

describe('an edit', () => {
  it('that was already made succeeds', async () => {
    await target.send(request('working'));
    telegram.next({ kind: 'cut-off' });
    expect(await target.edit?.(request('the answer'), '7/1')).toMatchObject({ kind: 'unknown' });
    expect(await target.edit?.(request('the answer'), '7/1')).toEqual({ kind: 'taken', receipt: '7/1' });
    expect(telegram.messages).toMatchObject([{ shown: 'the answer', edits: 1 }]);
  });

  it('of a message that is gone says so', async () => {
    await target.send(request('working'));
    telegram.delete(1);
    expect(await target.edit?.(request('x'), '7/1')).toMatchObject({ kind: 'gone' });
    expect(await target.edit?.(request('x'), 'nonsense')).toMatchObject({ kind: 'gone' });
  });
});

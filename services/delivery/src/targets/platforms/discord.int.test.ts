import { type DiscordStandIn, startDiscord } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SendRequest, Target } from '../target.ts';
import { outputMessage, requestsFor } from '../testing/contract.ts';
import { discordTarget } from './discord.ts';

const token = 'discord-secret';
let discord: DiscordStandIn;
let target: Target;

beforeEach(async () => {
  discord = await startDiscord({ token });
  target = discordTarget();
});

afterEach(async () => {
  await target.close();
  await discord.stop();
  expect(discord.problems).toEqual([]);
});

function request(
  text: string,
  to: Readonly<Record<string, unknown>> = { channel_id: '1001' },
  over: Partial<SendRequest> = {},
): SendRequest {
  const settings = { bot_token: token, api_base: `${discord.url}/api/v10` };
  const [first] = requestsFor({ target, settings, to }, outputMessage(text), over);
  if (first === undefined) throw new Error('no chunk');
  return first;
}

const answered = (status: number, body: unknown, headers = {}) => ({
  kind: 'answer' as const,
  answer: { status, body, headers },
});

it('sends to the channel, or to the thread, with a nonce of its own and without a ping', async () => {
  const first = request('@everyone <@123> **a**');
  expect(await target.send(first)).toEqual({ kind: 'taken', receipt: '1001/9000000000000000001' });
  await target.send(request('b', { channel_id: '1001', thread_id: '2002' }));
  expect(discord.requests[0]?.body).toEqual({
    content: '@everyone \\<@123> **a**',
    nonce: expect.stringMatching(/^[\w-]{25}$/),
    enforce_nonce: true,
    allowed_mentions: { parse: [] },
    flags: 4,
  });
  expect(discord.shownIn('2002')).toEqual(['b']);
  expect(new Set(discord.messages.map(({ nonce }) => nonce)).size).toBe(2);
});

it('uses the channel that a message was sent to if Discord does not name one', async () => {
  discord.next(answered(200, { id: '77' }));
  expect(await target.send(request('x'))).toEqual({ kind: 'taken', receipt: '1001/77' });
});

it('a resend while the nonce holds is silent; later it is marked', async () => {
  const first = request('once');
  discord.next({ kind: 'cut-off' });
  expect(await target.send(first)).toMatchObject({ kind: 'unknown' });
  const again = { ...first, message: { ...first.message, possibleDuplicate: true } };
  expect(await target.send(again)).toMatchObject({ kind: 'taken' });
  expect(discord.shownIn('1001')).toEqual(['once']);
  expect(discord.requests.map(({ body }) => (body as { content: string }).content)).toEqual(['once', 'once']);
  discord.forgetNonces();
  expect(await target.send({ ...again, ageMs: 600_000 })).toMatchObject({ kind: 'taken' });
  expect(discord.shownIn('1001')).toEqual(['once', '(possible duplicate) once']);
});

it('an answer that was only sent late is not marked', async () => {
  await target.send(request('late', undefined, { ageMs: 600_000 }));
  expect(discord.shownIn('1001')).toEqual(['late']);
});

describe('an answer of Discord', () => {
  it.each([
    [{ channel_id: '403' }, 'Missing Permissions (50013)'],
    [{ channel_id: '404' }, 'Unknown Channel (10003)'],
  ])('for %j is permanent, in its own words', async (to, words) => {
    expect(await target.send(request('x', to))).toMatchObject({
      kind: 'permanent',
      reason: expect.stringContaining(words),
    });
  });

  it('with an empty bucket makes the channel wait', async () => {
    discord.emptyBucket(2.5);
    expect(await target.send(request('x'))).toMatchObject({ kind: 'taken', pauseSeconds: 2.5 });
    expect(await target.send(request('y'))).not.toHaveProperty('pauseSeconds');
  });

  it('with a rate limit says how long to wait, and whether everything must', async () => {
    discord.next(
      answered(429, { message: 'x', retry_after: 1.25, global: false }, { 'x-ratelimit-scope': 'user' }),
      answered(429, { message: 'x', retry_after: 64.5, global: true }),
      answered(429, '<html>Cloudflare</html>', { 'retry-after': '900' }),
    );
    expect(await target.send(request('x'))).toMatchObject({ retryAfterSeconds: 1.25, scope: 'chat' });
    expect(await target.send(request('x'))).toMatchObject({ retryAfterSeconds: 64.5, scope: 'target' });
    expect(await target.send(request('x'))).toMatchObject({ retryAfterSeconds: 900, scope: 'target' });
  });

  it('for a deleted message says that it is gone', async () => {
    await target.send(request('working'));
    discord.delete('9000000000000000001');
    expect(await target.edit?.(request('x'), '1001/9000000000000000001')).toMatchObject({ kind: 'gone' });
    expect(await target.edit?.(request('x'), 'nonsense')).toMatchObject({ kind: 'gone' });
  });
});

describe('buttons', () => {
  const buttons = Array.from({ length: 7 }, (_, index) => ({
    label: `Choice ${index}`,
    data: `a1.AZNaPH4bfMCKT50fLjpLXA.7.choice-${index}`,
  }));
  const question = (over: object = {}) => {
    const settings = { bot_token: token, api_base: `${discord.url}/api/v10` };
    const message = outputMessage('Which one?', { type: 'clarification', buttons, ...over });
    const [first] = requestsFor({ target, settings, to: { channel_id: '1001' } }, message);
    if (first === undefined) throw new Error('no chunk');
    return first;
  };

  it('stand in rows of five below the end of the text', async () => {
    await target.send(question());
    const [message] = discord.messages;
    expect(message?.buttons.map(({ label }) => label)).toEqual(buttons.map(({ label }) => label));
    expect(discord.requests[0]?.body).toMatchObject({
      components: [
        {
          type: 1,
          components: Array.from({ length: 5 }, () => expect.objectContaining({ type: 2, style: 2 })),
        },
        { type: 1, components: [{ custom_id: buttons[5]?.data }, { custom_id: buttons[6]?.data }] },
      ],
    });
    const first = question({ buttons: [{ label: 'No', data: 'x', style: 'danger' }] });
    await target.send({ ...first, count: 2 });
    expect(discord.messages[1]?.buttons).toEqual([]);
    await target.send({ ...first, idempotencyKey: 'the last one' });
    expect(discord.messages[2]?.buttons).toMatchObject([{ label: 'No', style: 4 }]);
  });

  it('are gone after an edit without them', async () => {
    const sent = await target.send(question());
    const receipt = sent.kind === 'taken' ? (sent.receipt ?? '') : '';
    expect(await target.edit?.(request('Anna chose the first one.'), receipt)).toMatchObject({
      kind: 'taken',
    });
    expect(discord.messages[0]).toMatchObject({ content: 'Anna chose the first one.', buttons: [] });
  });
});

it('a message stands in the channel that took it, which may be a thread', () => {
  const place = (to: object) =>
    target.placeOf?.('2002/77', { to: { ...to }, untrusted: false, untrustedHost: false });
  expect(place({ channel_id: '2002' })).toEqual({
    platform: 'discord',
    chat: '2002',
    thread: null,
    message: '77',
  });
  expect(place({ channel_id: '1001', thread_id: '2002' })).toMatchObject({ chat: '2002', thread: '2002' });
  expect(target.placeOf?.('nonsense', { to: {}, untrusted: false, untrustedHost: false })).toBeNull();
});

it('shows that it is typing', async () => {
  await target.typing?.(request('x', { channel_id: '1001', thread_id: '2002' }));
  expect(discord.typing).toEqual(['2002']);
});

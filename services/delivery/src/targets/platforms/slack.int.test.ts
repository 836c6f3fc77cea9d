import { type SlackStandIn, startSlack } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SendRequest, Target } from '../target.ts';
import { outputMessage, requestsFor, windowOf } from '../testing/contract.ts';
import { slackTarget } from './slack.ts';

const token = 'xoxb-secret';
const channel = 'C0123456789';
let slack: SlackStandIn;
let target: Target;

beforeEach(async () => {
  slack = await startSlack({ token });
  target = slackTarget();
});

afterEach(async () => {
  await target.close();
  await slack.stop();
  expect(slack.problems).toEqual([]);
});

function request(
  text: string,
  to: Readonly<Record<string, unknown>> = { channel },
  over: Partial<SendRequest> = {},
): SendRequest {
  const settings = { bot_token: token, api_base: `${slack.url}/api` };
  const [first] = requestsFor({ target, settings, to }, outputMessage(text), over);
  if (first === undefined) throw new Error('no chunk');
  return first;
}

const answered = (status: number, body: unknown, headers = {}) => ({
  kind: 'answer' as const,
  answer: { status, body, headers },
});

it('posts a block and its text to the channel and the thread, and nothing in it pings', async () => {
  const sent = request('**done** <!channel> @here', { channel, thread_ts: '1405894322.002768' });
  expect(await target.send(sent)).toEqual({
    kind: 'taken',
    receipt: expect.stringMatching(/^C0123456789\/\d+\.\d{6}$/),
  });
  const text = '*done* &lt;!channel&gt; @here';
  expect(slack.requests[0]?.body).toEqual({
    channel,
    thread_ts: '1405894322.002768',
    text,
    blocks: [{ type: 'section', text: { type: 'mrkdwn', text, verbatim: true }, expand: true }],
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: 'angelia_output', event_payload: { key: sent.idempotencyKey } },
  });
});

it('sends plain text in the same attempt if Slack refuses the block', async () => {
  slack.refuseBlocks();
  expect(await target.send(request('**a** <!channel> & b'))).toMatchObject({ kind: 'taken' });
  expect(slack.messages).toMatchObject([{ block: null, text: 'a &lt;!channel&gt; &amp; b' }]);
  expect(slack.requests[1]?.body).toMatchObject({ mrkdwn: false });
});

it('takes a channel by its name, and edits by its id', async () => {
  const result = await target.send(request('working', { channel: '#general' }));
  const receipt = result.kind === 'taken' ? (result.receipt ?? '') : '';
  expect(receipt).toMatch(/^C0GENERAL\//);
  expect(await target.edit?.(request('done', { channel: '#general' }), receipt)).toMatchObject({
    kind: 'taken',
  });
  expect(slack.shownIn('C0GENERAL')).toEqual(['done']);
  slack.delete(slack.messages[0]?.ts ?? '');
  expect(await target.edit?.(request('x'), receipt)).toMatchObject({ kind: 'gone' });
});

it('uses the channel that a message was sent to if Slack does not name one', async () => {
  slack.next(answered(200, { ok: true, ts: '1.000100' }));
  expect(await target.send(request('x'))).toEqual({ kind: 'taken', receipt: `${channel}/1.000100` });
});

describe('an answer of Slack', () => {
  it.each([
    ['channel_not_found', 'permanent'],
    ['not_in_channel', 'permanent'],
    ['is_archived', 'permanent'],
    ['something_new', 'permanent'],
    ['token_revoked', 'retryable'],
    ['missing_scope', 'retryable'],
    ['service_unavailable', 'retryable'],
    ['fatal_error', 'unknown'],
    ['internal_error', 'unknown'],
  ])('with 200 and %s is %s', async (error, kind) => {
    slack.next(answered(200, { ok: false, error }));
    expect(await target.send(request('x'))).toMatchObject({ kind, reason: expect.stringContaining(error) });
  });

  it('about a missing scope names it', async () => {
    slack.next(answered(200, { ok: false, error: 'missing_scope', needed: 'chat:write' }));
    expect(await target.send(request('x'))).toMatchObject({
      reason: expect.stringContaining('(needed: chat:write)'),
    });
  });

  it('with a rate limit says how long to wait', async () => {
    slack.next(
      answered(429, { ok: false, error: 'ratelimited' }, { 'retry-after': '12' }),
      answered(200, { ok: false, error: 'rate_limited' }),
    );
    expect(await target.send(request('x'))).toMatchObject({ retryAfterSeconds: 12, scope: 'chat' });
    expect(await target.send(request('x'))).toMatchObject({ retryAfterSeconds: 30 });
  });

  it('with 200 and nothing readable leaves the outcome unknown', async () => {
    slack.next({ kind: 'garbled' });
    expect(await target.send(request('x'))).toMatchObject({ kind: 'unknown' });
  });
});

describe('a look-up', () => {
  it('finds the message in its thread', async () => {
    const sent = request('x', { channel, thread_ts: '1405894322.002768' });
    await target.send(sent);
    expect(await target.lookUp?.(sent)).toEqual({
      kind: 'found',
      receipt: `${channel}/${slack.messages[0]?.ts}`,
    });
    expect(slack.requests.at(-1)?.path).toBe('/api/conversations.replies');
  });

  it('finds the message after hundreds of others, and gives up after thousands', async () => {
    const sent = request('x');
    await target.send(sent);
    slack.addMessages(channel, 450);
    expect(await target.lookUp?.(sent)).toMatchObject({ kind: 'found' });
    slack.addMessages(channel, 600);
    expect(await target.lookUp?.(sent)).toMatchObject({ kind: 'cannot-tell' });
  });

  it('does not read messages much older than the answer', async () => {
    const sent = request('x');
    await target.send(sent);
    expect(await target.lookUp?.({ ...sent, recordedAt: Date.now() + 3_600_000 })).toEqual({
      kind: 'absent',
    });
  });

  it('that Slack cannot answer now is made again later, and the message is not sent again meanwhile', async () => {
    const { lookUp } = target;
    slack.behaveToReads(answered(502, '<html>'));
    expect(await lookUp?.(request('x'))).toMatchObject({ kind: 'retryable' });
    slack.behaveToReads(answered(429, { ok: false, error: 'ratelimited' }, { 'retry-after': '12' }));
    expect(await lookUp?.(request('x'))).toMatchObject({ kind: 'retryable', retryAfterSeconds: 12 });
    slack.behaveToReads({ kind: 'cut-off' });
    expect(await lookUp?.(request('x'))).toMatchObject({ kind: 'retryable' });
  });

  it('cannot tell without the scope, nor for a channel by name', async () => {
    expect(await target.lookUp?.(request('x', { channel: '#general' }))).toMatchObject({
      kind: 'cannot-tell',
    });
    slack.refuseHistory('missing_scope');
    expect(await target.lookUp?.(request('x'))).toMatchObject({
      kind: 'cannot-tell',
      reason: expect.stringContaining('missing_scope'),
    });
  });
});

describe('buttons', () => {
  const buttons = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ label: `choice ${index}`, data: `data ${index}` }));
  const asking = (text: string, count: number) =>
    requestsFor(
      { target, settings: { bot_token: token, api_base: `${slack.url}/api` }, to: { channel } },
      outputMessage(text, {
        buttons: buttons(count).map((one, index) =>
          index === 0 ? { ...one, style: 'danger' as const } : one,
        ),
      }),
    );

  it('are under the last message of a long text, as many as Slack takes, and an edit takes them away', async () => {
    for (const one of asking(`${'x'.repeat(2_900)}\n\n${'y'.repeat(2_900)}`, target.buttons?.most ?? 0)) {
      expect(await target.send({ ...one, window: windowOf() })).toMatchObject({ kind: 'taken' });
    }
    expect(slack.messages.map((message) => message.buttons.length)).toEqual([0, 25]);
    expect(slack.messages[1]?.buttons.slice(0, 2)).toEqual([
      { label: 'choice 0', value: 'data 0', style: 'danger' },
      { label: 'choice 1', value: 'data 1', style: null },
    ]);
    await target.edit?.(request('Red, by Ann'), `${channel}/${slack.messages[1]?.ts}`);
    expect(slack.messages[1]).toMatchObject({ block: 'Red, by Ann', buttons: [] });
  });

  it('stay if Slack refuses the markup', async () => {
    slack.refuseBlocks();
    for (const one of asking('**Red** < blue?', 2)) await target.send(one);
    expect(slack.messages).toMatchObject([{ block: 'Red < blue?', buttons: [{}, {}] }]);
  });
});

it('says where a message stands: one outside of threads begins its own', () => {
  const placeOf = (receipt: string, to: Record<string, unknown>) =>
    target.placeOf?.(receipt, { to, untrusted: false, untrustedHost: false });
  expect(placeOf('C0GENERAL/1405894322.002768', { channel: '#general' })).toEqual({
    platform: 'slack',
    chat: 'C0GENERAL',
    thread: '1405894322.002768',
    message: '1405894322.002768',
  });
  expect(placeOf(`${channel}/2.000001`, { channel, thread_ts: '1.000001' })).toMatchObject({
    thread: '1.000001',
  });
  expect(placeOf('nonsense', { channel })).toBeNull();
});

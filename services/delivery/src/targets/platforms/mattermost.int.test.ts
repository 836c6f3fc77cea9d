import { isClickProof } from '@angelia/chats';
import { type MattermostStandIn, startMattermost } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SendRequest, Target } from '../target.ts';
import { outputMessage, requestsFor, windowOf } from '../testing/contract.ts';
import { mattermostTarget } from './mattermost.ts';

const TOKEN = 'mattermost-secret';
const CHANNEL = 'channel0000000000000000001';
let mattermost: MattermostStandIn;
let target: Target;

beforeEach(async () => {
  mattermost = await startMattermost({ token: TOKEN });
  target = mattermostTarget();
});

afterEach(async () => {
  await target.close();
  await mattermost.stop();
});

function request(text: string, over: Partial<SendRequest> = {}, to = {}): SendRequest {
  const settings = { token: TOKEN, api_base: mattermost.url };
  const [first] = requestsFor(
    { target, settings, to: { channel_id: CHANNEL, ...to } },
    outputMessage(text),
    over,
  );
  if (first === undefined) throw new Error('no chunk');
  return first;
}

describe('a post', () => {
  it('is in its channel, or in its thread', async () => {
    await target.send(request('in the channel'));
    await target.send(request('in the thread', {}, { root_id: 'root0000000000000000000001' }));
    expect(mattermost.posts).toMatchObject([
      { channelId: CHANNEL, rootId: '', message: 'in the channel' },
      { channelId: CHANNEL, rootId: 'root0000000000000000000001', message: 'in the thread' },
    ]);
    expect(mattermost.problems).toEqual([]);
  });

  it('mentions neither all, channel, here nor anyone', async () => {
    await target.send(request('@all @channel @here _@someone_ `@code`'));
    expect(mattermost.posts[0]?.message).not.toMatch(/(?<!`)@\w/);
    expect(mattermost.posts[0]?.message).toContain('`@code`');
  });

  it('that is too long becomes several, none longer than the server takes', async () => {
    const settings = { token: TOKEN, api_base: mattermost.url };
    const source = `${'a line of many, with some *style* 😀\n\n'.repeat(1_000)}the end`;
    const all = requestsFor({ target, settings, to: { channel_id: CHANNEL } }, outputMessage(source));
    for (const one of all) {
      const sent = { ...one, window: windowOf(), markDuplicate: true };
      expect(await target.send(sent)).toMatchObject({ kind: 'taken' });
    }
    expect(mattermost.problems).toEqual([]);
    const lines = mattermost.posts.map(({ message }) => message.split('a line of many').length - 1);
    expect(lines.reduce((a, b) => a + b)).toBe(1_000);
    expect(lines.length).toBe(3);
  });

  it('that is repeated at once is the same post', async () => {
    const sent = request('once');
    expect(await target.send(sent)).toMatchObject({ kind: 'taken' });
    expect(await target.send({ ...sent, window: windowOf() })).toMatchObject({ kind: 'taken' });
    expect(mattermost.posts).toHaveLength(1);
  });

  it('is found by its property if the server has forgotten the request, edited or not', async () => {
    const sent = request('forgotten');
    mattermost.next({ kind: 'cut-off' });
    expect(await target.send(sent)).toMatchObject({ kind: 'unknown' });
    mattermost.forgetPending();
    mattermost.addPosts(CHANNEL, ['forgotten', 'other']);
    const found = await target.lookUp?.({ ...sent, window: windowOf() });
    expect(found).toEqual({ kind: 'found', receipt: mattermost.posts[0]?.id });
    const edit = request('edited');
    mattermost.next({ kind: 'cut-off' });
    expect(await target.edit?.(edit, mattermost.posts[0]?.id ?? '')).toMatchObject({ kind: 'unknown' });
    // Like the server, the stand-in replaces all properties.
    expect(mattermost.posts[0]?.message).toBe('edited');
  });
});

describe('an answer of Mattermost', () => {
  it.each([
    ['12', 12],
    [String(Math.floor(Date.now() / 1000) + 40), 40],
  ])('a rate limit that ends at %s makes us wait', async (reset, seconds) => {
    mattermost.next({
      kind: 'answer',
      answer: { status: 429, body: 'limit exceeded', headers: { 'x-ratelimit-reset': reset } },
    });
    const result = await target.send(request('x'));
    expect(result).toMatchObject({ kind: 'retryable', scope: 'target' });
    const { retryAfterSeconds = 0 } = result as { retryAfterSeconds?: number };
    // A time comes nearer while the test runs. A time read as a duration would be half a century.
    expect(retryAfterSeconds).toBeGreaterThan(0);
    expect(retryAfterSeconds).toBeLessThanOrEqual(seconds + 1);
  });

  it('a rate limit without a time makes us wait all the same', async () => {
    mattermost.next({ kind: 'answer', answer: { status: 429, body: 'limit exceeded' } });
    expect(await target.send(request('x'))).toMatchObject({ kind: 'retryable', retryAfterSeconds: 5 });
  });

  it('a channel that the bot is not in is a permanent refusal, in its words', async () => {
    expect(await target.send(request('x', {}, { channel_id: 'nochannel0000000000000000x' }))).toEqual({
      kind: 'permanent',
      reason: `http 403 from ${mattermost.url}: You do not have the appropriate permissions.`,
    });
  });
});

describe('buttons', () => {
  const url = 'http://127.0.0.1:9/chats/mattermost/team';
  const data = 'a1.x.1.choice-0';
  const buttons = [
    { label: 'Red', data, style: 'primary' as const },
    { label: 'Blue', data: 'a1.x.1.choice-1' },
  ];
  const ask = (text: string, settings: object) =>
    requestsFor(
      {
        target,
        settings: { token: TOKEN, api_base: mattermost.url, ...settings },
        to: { channel_id: CHANNEL },
      },
      outputMessage(text, { buttons }),
    );

  it('name our address, with a proof that nobody else is shown, and an edit takes them away', async () => {
    for (const one of ask('Which?', { clicks_url: url })) await target.send(one);
    const [post] = mattermost.posts;
    expect(mattermost.buttonsOf(post?.id ?? '')).toEqual(['Red', 'Blue']);
    const click = mattermost.clickBody(post?.id ?? '', 'Red', 'user0000000000000000000001');
    const { proof } = click.context as { proof: string };
    expect(click.context).toEqual({ data, proof });
    expect(isClickProof(proof, TOKEN, data)).toBe(true);
    const shown = await fetch(`${mattermost.url}/api/v4/posts/${post?.id}/thread`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(await shown.text()).not.toContain(proof);
    await target.edit?.(request('Red, by Ann'), post?.id ?? '');
    expect([post?.message, mattermost.buttonsOf(post?.id ?? '')]).toEqual(['Red, by Ann', []]);
    expect(mattermost.problems).toEqual([]);
  });
});

it('says where a post stands: one outside of threads is the root of its own', () => {
  const placeOf = (to: Record<string, unknown>) =>
    target.placeOf?.('post0000000000000000000001', { to, untrusted: false, untrustedHost: false });
  expect(placeOf({ channel_id: CHANNEL })).toEqual({
    platform: 'mattermost',
    chat: CHANNEL,
    thread: 'post0000000000000000000001',
    message: 'post0000000000000000000001',
  });
  const root = 'root0000000000000000000001';
  expect(placeOf({ channel_id: CHANNEL, root_id: root })).toMatchObject({ thread: root });
});

it('shows that an answer is being written, in the thread', async () => {
  await target.typing?.(request('x', {}, { root_id: 'root0000000000000000000001' }));
  expect(mattermost.typing).toEqual([`${CHANNEL}/root0000000000000000000001`]);
});

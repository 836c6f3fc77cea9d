import { type GithubStandIn, startGithub, startStandIn } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SendRequest, Target } from '../target.ts';
import { outputMessage, requestsFor, windowOf } from '../testing/contract.ts';
import { githubCommentTarget } from './github-comment.ts';

const TOKEN = 'ghp_secret';
let github: GithubStandIn;
let target: Target;

beforeEach(async () => {
  github = await startGithub({ token: TOKEN });
  target = githubCommentTarget();
});

afterEach(async () => {
  await target.close();
  await github.stop();
});

function requests(text: string, over: Partial<SendRequest> = {}, to = {}): SendRequest[] {
  const settings = { token: TOKEN, api_base: github.url };
  return requestsFor(
    { target, settings, to: { repo: 'octo/hello', issue_number: '7', ...to } },
    outputMessage(text),
    over,
  );
}

function request(text: string, over: Partial<SendRequest> = {}, to = {}): SendRequest {
  const [first] = requests(text, over, to);
  if (first === undefined) throw new Error('no chunk');
  return first;
}

describe('a comment', () => {
  it('is the Markdown as written, after a marker that nobody sees and that reveals nothing', async () => {
    const text = '| a | b |\n| - | - |\n| 1 | 2 |\n\n- [x] done';
    const sent = request(text);
    expect(await target.send(sent)).toEqual({
      kind: 'taken',
      receipt: 'https://github.com/octo/hello/issues/7#issuecomment-1',
    });
    expect(github.comments[0]?.body).toMatch(/^<!-- angelia:[0-9a-f]{32} -->\n\n\| a \| b \|/);
    expect(github.comments[0]?.body.endsWith(text)).toBe(true);
    expect(github.comments[0]?.body).not.toContain(sent.message.sessionId);
  });

  it('mentions nobody', async () => {
    await target.send(request('thanks @octocat and @github/everyone; `@code` stays'));
    expect(github.comments[0]?.body).not.toMatch(/(?<!`)@\w/);
    expect(github.comments[0]?.body).toContain('`@code`');
  });

  it('that is too long becomes several, each of valid Markdown', async () => {
    const source = `Intro\n\n\`\`\`ts\n${'const line = 1;\n'.repeat(6_000)}\`\`\`\n\nThe end.`;
    const all = requests(source);
    expect(all).toHaveLength(2);
    for (const one of all)
      expect(await target.send({ ...one, window: windowOf() })).toMatchObject({ kind: 'taken' });
    for (const { body } of github.comments) {
      expect(body.length).toBeLessThanOrEqual(65_536);
      expect([...body.matchAll(/^```/gm)].length % 2).toBe(0);
    }
    expect(
      github.comments.map(({ body }) => body.split('const line').length - 1).reduce((a, b) => a + b),
    ).toBe(6_000);
    expect(github.problems).toEqual([]);
  });
});

describe('a look-up', () => {
  it('finds the comment after many others, without reading comments older than the answer', async () => {
    github.addComments(
      'octo/hello',
      7,
      Array.from({ length: 900 }, (_, n) => `old ${n}`),
      Date.now() - 86_400_000,
    );
    const sent = request('found?');
    github.addComments(
      'octo/hello',
      7,
      Array.from({ length: 150 }, (_, n) => `new ${n}`),
    );
    github.next({ kind: 'cut-off' });
    expect(await target.send(sent)).toMatchObject({ kind: 'unknown' });
    const before = github.requests.length;
    expect(await target.lookUp?.({ ...sent, window: windowOf() })).toMatchObject({
      kind: 'found',
      receipt: expect.stringMatching(/issuecomment-1051$/),
    });
    expect(github.requests.length - before).toBe(2);
    expect(github.problems).toEqual([]);
  });

  it('does not claim absence after the last page that it reads, nor if the platform does not tell', async () => {
    const sent = request('lost');
    github.addComments(
      'octo/hello',
      7,
      Array.from({ length: 501 }, (_, n) => `new ${n}`),
    );
    expect(await target.lookUp?.(sent)).toMatchObject({ kind: 'cannot-tell' });
    expect(await target.lookUp?.(request('x', {}, { issue_number: '404' }))).toMatchObject({
      kind: 'cannot-tell',
    });
  });

  it('is made again later if the platform is down or too busy', async () => {
    github.behaveToReads({
      kind: 'answer',
      answer: { status: 403, body: { message: 'API rate limit exceeded' }, headers: { 'retry-after': '5' } },
    });
    expect(await target.lookUp?.(request('x'))).toMatchObject({ kind: 'retryable', retryAfterSeconds: 5 });
    github.behaveToReads({ kind: 'answer', answer: { status: 502 } });
    expect(await target.lookUp?.(request('x'))).toMatchObject({ kind: 'retryable' });
    github.behaveToReads({ kind: 'hang' });
    expect(await target.lookUp?.(request('x', { window: windowOf(0.3) }))).toMatchObject({
      kind: 'retryable',
    });
    await github.stop();
    expect(await target.lookUp?.(request('x'))).toMatchObject({ kind: 'retryable' });
  });

  it('is not fooled by a comment that quotes the text', async () => {
    const sent = request('the answer');
    github.addComments('octo/hello', 7, ['> the answer', `<!-- angelia:${sent.idempotencyKey} -->`]);
    expect(await target.lookUp?.(sent)).toEqual({ kind: 'absent' });
  });
});

describe('an answer of GitHub', () => {
  const after = async (status: number, message: string, headers: Record<string, string> = {}) => {
    github.next({ kind: 'answer', answer: { status, body: { message }, headers } });
    return target.send(request('x'));
  };

  it('a primary limit lasts until its reset', async () => {
    const reset = String(Math.floor(Date.now() / 1000) + 90);
    const result = await after(403, 'API rate limit exceeded for user ID 1.', {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': reset,
    });
    expect(result).toMatchObject({ kind: 'retryable', scope: 'target' });
    const { retryAfterSeconds } = result as { retryAfterSeconds: number };
    expect(retryAfterSeconds).toBeGreaterThan(85);
    expect(retryAfterSeconds).toBeLessThanOrEqual(91);
  });

  it('a secondary limit that does not say how long lasts a minute', async () => {
    expect(await after(403, 'You have exceeded a secondary rate limit.')).toMatchObject({
      retryAfterSeconds: 60,
    });
    expect(await after(429, 'You have exceeded a secondary rate limit.')).toMatchObject({
      retryAfterSeconds: 60,
    });
  });

  it('a locked or deleted conversation is a permanent refusal', async () => {
    github.lock('octo/hello', 7);
    expect(await target.send(request('x'))).toEqual({
      kind: 'permanent',
      reason: `http 403 from ${github.url}: Unable to create comment because issue is locked.`,
    });
    expect(await after(410, 'This issue was deleted')).toMatchObject({ kind: 'permanent' });
    expect(await after(422, 'Validation Failed')).toMatchObject({ kind: 'permanent' });
  });

  it('a gateway that gave up does not know whether the comment was made', async () => {
    expect(await after(502, 'Server Error')).toMatchObject({ kind: 'unknown' });
    expect(await after(500, 'Server Error')).toMatchObject({ kind: 'retryable' });
  });

  it('a renamed repository is followed on the same host', async () => {
    github.rename('octo/hello', 'octo/renamed');
    const sent = request('moved');
    expect(await target.send(sent)).toMatchObject({ kind: 'taken' });
    expect(github.comments[0]?.repo).toBe('octo/renamed');
    expect(await target.lookUp?.({ ...sent, window: windowOf() })).toMatchObject({ kind: 'found' });
  });

  it('a redirect to another host is not followed: the token is not for that host', async () => {
    const stranger = await startStandIn({ isMessage: () => true, answer: () => ({ status: 201, body: {} }) });
    github.next({ kind: 'answer', answer: { status: 307, headers: { location: `${stranger.url}/x` } } });
    expect(await target.send(request('x'))).toMatchObject({ kind: 'permanent' });
    expect(stranger.requests).toEqual([]);
    await stranger.stop();
  });
});

it('a reply in a review thread stays there, is looked up there and edited there', async () => {
  const to = { issue_number: undefined, pr_number: '7', review_comment_id: '9' };
  const sent = request('first', {}, to);
  const result = await target.send(sent);
  expect(result).toEqual({ kind: 'taken', receipt: 'https://github.com/octo/hello/pull/7#discussion_r1' });
  expect(github.comments[0]).toMatchObject({ number: 7, thread: 9 });
  expect(await target.lookUp?.({ ...sent, window: windowOf() })).toMatchObject({ kind: 'found' });
  const receipt = result.kind === 'taken' ? (result.receipt ?? '') : '';
  expect(await target.edit?.(request('second', {}, to), receipt)).toMatchObject({ kind: 'taken', receipt });
  expect(github.comments.map(({ body }) => body.split('\n').at(-1))).toEqual(['second']);
  expect(github.problems).toEqual([]);
});

it('a comment is found by its conversation, spelled as GitHub spells it', () => {
  const place = (receipt: string, to: Record<string, unknown>) =>
    target.placeOf?.(receipt, { to, untrusted: false, untrustedHost: false });
  const written = { repo: 'OCTO/Hello', issue_number: '7' };
  expect(place('https://github.com/octo/hello/issues/7#issuecomment-5', written)).toEqual({
    platform: 'github_comment',
    chat: 'octo/hello#7',
    thread: 'comments',
    message: 'issuecomment-5',
  });
  expect(place('issuecomment-5', written)).toMatchObject({ chat: 'OCTO/Hello#7' });
  const inReview = { repo: 'octo/hello', pr_number: '7', review_comment_id: '9' };
  expect(place('https://github.com/octo/hello/pull/7#discussion_r6', inReview)).toMatchObject({
    thread: 'review-9',
    message: 'discussion_r6',
  });
  expect(place('nonsense', written)).toBeNull();
});

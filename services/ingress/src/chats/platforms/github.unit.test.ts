import { type GithubEventOptions, githubEvent } from '@angelia/testkit';
import { describe, expect, it } from '@jest/globals';
import type { SignedRequest } from '../../webhooks/authenticate/scheme.ts';
import type { PlatformSettings } from '../platform.ts';
import { commands } from '../take/commands/commands.ts';
import { COMMAND_NAMES } from './first-line.ts';
import { github } from './github.ts';

const SECRET = 'webhook-secret';
const settings: PlatformSettings = {
  chat: { webhook_secret: SECRET, bot_name: 'angelia-bot', associations: ['MEMBER'], mention: true },
  target: {},
};

function requestOf(event: ReturnType<typeof githubEvent>): SignedRequest {
  return { headers: { ...event.headers }, body: Buffer.from(event.body), nowMs: Date.now(), publicUrl: null };
}

function read(options: GithubEventOptions, chat: Record<string, unknown> = {}) {
  const event = githubEvent(options);
  const given = { ...settings, chat: { ...settings.chat, ...chat } };
  const [update] = github.webhook?.read(event.payload, requestOf(event), given) ?? [];
  return update;
}

const said = (body: string, more: Partial<GithubEventOptions> = {}) => read({ id: 42, body, ...more });

describe('the signature of GitHub', () => {
  const verify = (request: SignedRequest) => github.webhook?.verify(request, settings);

  it('is the HMAC of the bytes', () => {
    expect(verify(requestOf(githubEvent({ id: 1, body: 'x', secret: SECRET })))).toBe(true);
  });

  it('of another secret, of other bytes, or none is refused', () => {
    expect(verify(requestOf(githubEvent({ id: 1, body: 'x', secret: 'other' })))).toBe(false);
    const signed = requestOf(githubEvent({ id: 1, body: 'x', secret: SECRET }));
    expect(verify({ ...signed, body: Buffer.concat([signed.body, Buffer.from(' ')]) })).toBe(false);
    expect(verify({ ...signed, headers: {} })).toBe(false);
    expect(verify({ ...signed, headers: { 'x-hub-signature-256': 'sha256=' } })).toBe(false);
  });
});

describe('a comment', () => {
  it('that mentions the bot speaks to whoever wrote last in the conversation', () => {
    expect(said('@angelia-bot please also look at b.ts')).toEqual({
      kind: 'message',
      updateId: 'comment:42',
      place: { platform: 'github_comment', chat: 'octo/hello#7', thread: 'comments' },
      from: { id: '583231', name: 'octocat', bot: false, listedAs: ['octocat'], letIn: false },
      message: 'issuecomment-42',
      replyTo: null,
      text: 'please also look at b.ts',
      direct: false,
      mentioned: true,
      command: null,
      forwarded: false,
      files: [],
      answerTo: { repo: 'octo/hello', pr_number: '7' },
    });
  });

  it('in a review thread is answered in that thread', () => {
    const update = said('@angelia-bot why?', { event: 'pull_request_review_comment', inReplyTo: 9 });
    expect(update).toMatchObject({
      updateId: 'review-comment:42',
      place: { chat: 'octo/hello#7', thread: 'review-9' },
      answerTo: { repo: 'octo/hello', pr_number: '7', review_comment_id: '9' },
    });
  });

  it.each([
    '/status',
    '@angelia-bot /status',
    '> quoted by somebody\n\n/status',
    '/STATUS\nmore',
    '\r\n@Angelia-Bot, /status\r\n',
  ])('whose first line of its own is a command is one: %j', (body) => {
    expect(said(body)).toMatchObject({ command: { name: 'status', rest: '' }, mentioned: true });
  });

  it('with the code of a pairing is a command, too', () => {
    expect(said('/pair K7QW-M3TX-09AB')).toMatchObject({
      command: { name: 'pair', rest: 'K7QW-M3TX-09AB' },
    });
  });

  it('gives a command the rest of its line', () => {
    expect(said('/deny too expensive\nreally')).toMatchObject({
      command: { name: 'deny', rest: 'too expensive' },
    });
  });

  it.each([
    'just talking',
    '/lgtm',
    '/usr/bin is missing',
    '> /status',
    '> @angelia-bot do it',
    '`@angelia-bot`',
    '```\n@angelia-bot\n/status\n```',
    'mail@angelia-bot',
    '@angelia-bottle',
    '@angelia-bot-2',
    'see /status',
    'github.com/@angelia-bot',
  ])('that neither mentions nor commands starts nothing: %j', (body) => {
    expect(said(body)).toMatchObject({ kind: 'other' });
  });

  it('needs no mention if the config says so', () => {
    expect(read({ id: 1, body: 'just talking' }, { mention: false })).toMatchObject({
      kind: 'message',
      mentioned: false,
    });
  });

  it.each<[string, Partial<GithubEventOptions>]>([
    ['an edit', { action: 'edited' }],
    ['a deletion', { action: 'deleted' }],
    ['a bot', { type: 'Bot', login: 'dependabot[bot]' }],
    ['our own account', { login: 'Angelia-Bot' }],
    ['somebody who makes GitHub repeat it', { sender: { id: 5, login: 'x', type: 'User' } }],
    ['a review comment that opens a thread', { event: 'pull_request_review_comment' }],
    ['a ping', { event: 'ping' }],
    ['an issue', { event: 'issues' }],
    ['an empty text', { body: '@angelia-bot' }],
    ['no text', { body: null }],
    ['somebody who kept it for a week', { createdAt: new Date(Date.now() - 7 * 86_400_000).toISOString() }],
    ['a time that nobody can read', { createdAt: 'yesterday' }],
    ['our own comment', { body: `<!-- angelia:${'a'.repeat(32)} -->\n\n@angelia-bot go on` }],
  ])('by or of %s starts nothing', (_, more) => {
    expect(said('@angelia-bot go on', more)).toMatchObject({ kind: 'other' });
  });

  it('has a key that is signed: a replay with another delivery id is the same update', () => {
    const [first, second] = [said('@angelia-bot a'), said('@angelia-bot a')];
    expect(first?.updateId).toBe(second?.updateId);
  });

  it('lets in by the relation to the repository only what the config lists', () => {
    expect(said('@angelia-bot a', { association: 'MEMBER' })).toMatchObject({ from: { letIn: true } });
    expect(said('@angelia-bot a', { association: 'OWNER' })).toMatchObject({ from: { letIn: false } });
  });

  it('of an unknown shape is no update', () => {
    const request = githubEvent({ id: 1, body: '@angelia-bot a' });
    const read = (body: unknown) => github.webhook?.read(body, requestOf(request), settings)?.[0];
    const event: object = JSON.parse(request.body);
    expect(read(event)).toMatchObject({ kind: 'message' });
    expect(read({ action: 'created' })).toMatchObject({ kind: 'other' });
    expect(read({ ...event, repository: { full_name: '../..' } })).toMatchObject({ kind: 'other' });
  });
});

it('the commands that are known without a menu are those that there are', () => {
  expect([...COMMAND_NAMES].sort()).toEqual(Object.keys(commands).sort());
});

it('an address names the chat as its events do', () => {
  expect(github.chatOf({ repo: 'octo/hello', pr_number: '7' })).toBe('octo/hello#7');
  expect(github.addressOf('octo/hello#7')).toEqual({ repo: 'octo/hello', pr_number: '7' });
  expect(github.otherAddressOf?.('octo/hello#7')).toEqual({ repo: 'octo/hello', issue_number: '7' });
  expect(github.chatOf({ url: 'https://example.com' })).toBeNull();
});

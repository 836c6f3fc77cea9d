import { configSchema } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { parseAddress, templateProblems } from './addresses.ts';
import { targetSchema } from './schemas.ts';

const config = configSchema.parse({
  targets: {
    github_comment: { token: 't', repo: 'octo/default' },
    email: { host: 'mail.example.com', from: 'bot@example.com', to: 'team@example.com' },
    matrix: { api_base: 'https://hs.example.com/', access_token: 't', room_id: '!home:hs', thread_id: '$t' },
    mattermost: { api_base: 'https://chat.example.com', token: 't' },
  },
});
const CHANNEL = 'a'.repeat(26);

type Name = 'github_comment' | 'email' | 'matrix' | 'mattermost';

describe('a valid address', () => {
  it.each<[Name, object, object]>([
    ['github_comment', { repo: 'octo/hello.js', pr_number: 7 }, { repo: 'octo/hello.js', pr_number: '7' }],
    // An account that a company manages.
    ['github_comment', { repo: 'mona_acme/x', pr_number: 7 }, { repo: 'mona_acme/x', pr_number: '7' }],
    ['github_comment', { issue_number: '12' }, { repo: 'octo/default', issue_number: '12' }],
    ['email', { to: 'a@example.com, b@example.com' }, { to: ['a@example.com', 'b@example.com'] }],
    ['email', { to: ['a@example.com'], subject: 7 }, { to: ['a@example.com'], subject: '7' }],
    ['email', {}, { to: ['team@example.com'] }],
    ['matrix', { room_id: '#ops:hs.example.com' }, { room_id: '#ops:hs.example.com' }],
    ['matrix', {}, { room_id: '!home:hs', thread_id: '$t' }],
    ['mattermost', { channel_id: CHANNEL }, { channel_id: CHANNEL }],
  ])('%s %j is kept as %j', (name, extra, to) => {
    expect(parseAddress(config, name, extra as Record<string, unknown>)).toEqual({ ok: true, to });
  });
});

describe('an invalid address', () => {
  it.each<[Name, object, string]>([
    ['github_comment', { repo: 'octo', pr_number: 7 }, 'repo'],
    ['github_comment', { repo: 'octo/..', pr_number: 7 }, 'repo'],
    ['github_comment', { repo: 'octo/a/../../b', pr_number: 7 }, 'repo'],
    ['github_comment', { repo: 'octo/hello?x=1', pr_number: 7 }, 'repo'],
    ['github_comment', { repo: 'octo/hello' }, ''],
    ['github_comment', { pr_number: 7, issue_number: 7 }, ''],
    ['github_comment', { pr_number: '7/../8' }, 'pr_number'],
    ['github_comment', { pr_number: '{number}' }, 'pr_number'],
    ['email', { to: '' }, 'to'],
    ['email', { to: [] }, 'to'],
    ['email', { to: 'a@example.com\r\nBcc: b@example.com' }, 'to'],
    ['email', { to: 'a@example.com>\r\nRCPT TO:<b@example.com' }, 'to'],
    ['email', { to: 'Name <a@example.com>' }, 'to'],
    ['email', { to: ['a@example.com', 'b'] }, 'to.1'],
    ['email', { to: Array.from({ length: 21 }, (_, n) => `a${n}@example.com`) }, 'to'],
    ['email', { bcc: 'a@example.com' }, 'bcc'],
    ['matrix', { room_id: 'ops' }, 'room_id'],
    ['matrix', { room_id: '!r:hs', thread_id: 'x' }, 'thread_id'],
    ['mattermost', {}, 'channel_id'],
    ['mattermost', { channel_id: 'town-square' }, 'channel_id'],
  ])('%s %j is refused with its key', (name, extra, key) => {
    const parsed = parseAddress(config, name, extra as Record<string, unknown>);
    expect(parsed).toMatchObject({ ok: false, problems: [{ key }] });
  });

  it('is checked only after its placeholders are filled in', () => {
    expect(
      templateProblems(config, 'github_comment', { repo: '{repository.full_name}', pr_number: '{n}' }),
    ).toEqual([]);
    expect(templateProblems(config, 'email', { to: '{user.email}' })).toEqual([]);
    expect(templateProblems(config, 'email', { to: ['{user.email}', 'nobody'] })).toMatchObject([
      { key: 'to.1' },
    ]);
    expect(templateProblems(config, 'matrix', { room_id: '{room}' })).toEqual([]);
  });
});

describe('the options of a target', () => {
  it.each<[Name, object]>([
    ['github_comment', {}],
    ['github_comment', { token: '' }],
    ['github_comment', { token: 't', api_base: 'https://user:secret@example.com' }],
    ['github_comment', { token: 't', api_base: 'ftp://example.com' }],
    ['email', { host: 'h', from: 'a@example.com\r\nBcc: b@example.com' }],
    ['email', { host: 'h', from: 'X\r\nBcc: b@c.de <a@example.com>' }],
    ['email', { host: 'h', from: 'a@example.com', security: 'maybe' }],
    ['matrix', { access_token: 't' }],
    ['mattermost', { token: 't' }],
  ])('%s %j is refused', (name, options) => {
    expect(targetSchema(name).options.safeParse(options).success).toBe(false);
  });

  it('have their defaults, and no slash at the end of an address', () => {
    expect(targetSchema('github_comment').options.parse({ token: 't' })).toMatchObject({
      api_base: 'https://api.github.com',
    });
    expect(
      targetSchema('matrix').options.parse({ access_token: 't', api_base: 'https://hs.test/' }),
    ).toMatchObject({
      api_base: 'https://hs.test',
    });
    expect(
      targetSchema('email').options.parse({ host: 'h', from: 'Angelia <bot@example.com>' }),
    ).toMatchObject({ security: 'starttls' });
  });
});

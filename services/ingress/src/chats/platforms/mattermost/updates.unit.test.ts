import { describe, expect, it } from '@jest/globals';
import type { ChatUpdate } from '../../platform.ts';
import { readPost, readRequest } from './updates.ts';

const self = { id: 'angeliabot0000000000000000', username: 'angelia' };
const user = 'user0000000000000000000001';
const channel = 'channel0000000000000000001';
const root = 'root0000000000000000000001';
const post = 'post0000000000000000000001';
const settings = { chat: { session_per: 'thread' }, target: {} };

const posted = (over: object = {}) => ({
  id: post,
  create_at: Date.now(),
  update_at: Date.now(),
  edit_at: 0,
  delete_at: 0,
  is_pinned: false,
  user_id: user,
  channel_id: channel,
  root_id: '',
  original_id: '',
  message: 'hello',
  type: '',
  props: { disable_group_highlight: true },
  hashtags: '',
  file_ids: [],
  pending_post_id: '',
  metadata: {},
  ...over,
});
const read = (over: object = {}, channelType = 'O', chat: object = {}): ChatUpdate =>
  readPost(
    posted(over),
    { channelType, sender: '@ann' },
    self,
    { ...settings, chat: { ...settings.chat, ...chat } },
    Date.now(),
  ).update;

describe('a post in Mattermost', () => {
  it('opens a thread in a channel', () => {
    expect(read({ message: '@Angelia: what is new?' })).toMatchObject({
      kind: 'message',
      updateId: post,
      place: { platform: 'mattermost', chat: channel, thread: post },
      from: { id: user, name: 'ann', bot: false },
      replyTo: null,
      mentioned: true,
      direct: false,
      answerTo: { channel_id: channel, root_id: post },
    });
  });

  it('in a thread belongs to it', () => {
    expect(read({ root_id: root })).toMatchObject({
      place: { thread: root },
      replyTo: root,
      mentioned: false,
      answerTo: { channel_id: channel, root_id: root },
    });
  });

  it('to the bot alone, or with one session per channel, is answered in place', () => {
    expect(read({}, 'D')).toMatchObject({ direct: true, place: { thread: null } });
    const inPlace = read({}, 'O', { session_per: 'chat' });
    expect(inPlace).toMatchObject({
      direct: false,
      place: { thread: null },
      answerTo: { channel_id: channel },
    });
  });

  it('has its command behind the mention, and its files', () => {
    expect(read({ message: '@angelia /resume 0192' })).toMatchObject({
      command: { name: 'resume', rest: '0192' },
    });
    const files = [{ id: 'f', name: 'a.pdf', extension: 'pdf', size: 9, mime_type: 'application/pdf' }];
    expect(read({ message: '', file_ids: ['f'], metadata: { files } })).toMatchObject({
      files: [{ id: 'f', name: 'a.pdf', mimeType: 'application/pdf', bytes: 9 }],
    });
  });

  it.each(['angelia@angelia.io', '@angelia-two', '@angelia.two', 'x@angelia', 'angelia'])(
    '%s is no mention of us',
    (message) => expect(read({ message })).toMatchObject({ mentioned: false }),
  );

  it.each<[string, object]>([
    ['our own', { user_id: self.id }],
    ['of a bot', { props: { from_bot: 'true' } }],
    ['of a webhook', { props: { from_webhook: 'true' } }],
    ['about somebody who joined', { type: 'system_join_channel' }],
    ['that was deleted', { delete_at: 1 }],
    ['of two days ago', { create_at: Date.now() - 49 * 3_600_000 }],
    ['without anything', { message: ' ' }],
    ['that only mentions us', { message: '@angelia' }],
    ['without a channel', { channel_id: 'x' }],
  ])('%s is no message', (_what, over) => expect(read(over).kind).toBe('other'));
});

describe('a request of Mattermost', () => {
  it('is a slash command with the command as its first word', () => {
    const command = {
      ...{ token: 't', team_id: 'x', team_domain: 'x', channel_id: channel, channel_name: 'town-square' },
      ...{ user_id: user, user_name: 'ann', command: '/angelia', text: 'deny too risky' },
      ...{ trigger_id: 'dHJpZ2dlcg==', response_url: 'https://x', root_id: root },
    };
    expect(readRequest(command)).toMatchObject({
      kind: 'message',
      updateId: 'command:dHJpZ2dlcg==',
      place: { thread: root },
      command: { name: 'deny', rest: 'too risky' },
      mentioned: true,
      direct: false,
      answerTo: { channel_id: channel, root_id: root },
    });
    expect(
      readRequest({ ...command, text: '', root_id: '', channel_name: `${user}__${self.id}` }),
    ).toMatchObject({
      command: { name: 'help', rest: '' },
      direct: true,
      answerTo: { channel_id: channel },
    });
  });

  it('is an outgoing webhook, whose trigger word is no part of the text', () => {
    const webhook = {
      ...{ token: 't', team_id: 'x', team_domain: 'x', channel_id: channel, channel_name: 'town-square' },
      ...{ timestamp: 1, user_id: user, user_name: 'ann', post_id: post, file_ids: '' },
      ...{ text: '!ask what is new?', trigger_word: '!ask' },
    };
    expect(readRequest(webhook)).toMatchObject({
      updateId: post,
      text: 'what is new?',
      answerTo: { channel_id: channel },
    });
    expect(readRequest({ ...webhook, text: '!ask' }).kind).toBe('other');
  });

  it.each([null, [], 'x', {}, { context: {} }, { context: { data: 'x' } }, { command: 7 }, { command: 'x' }])(
    '%j is no update, and no error',
    (body) => expect(readRequest(body).kind).toBe('other'),
  );
});

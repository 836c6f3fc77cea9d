import {
  SLACK_BOT,
  SLACK_TEAM,
  slackClick,
  slackCommand,
  slackEvent,
  slackMessage,
  slackTs,
} from '@angelia/testkit';
import { describe, expect, it } from '@jest/globals';
import type { ChatMessage, ChatUpdate } from '../../platform.ts';
import { slack } from './slack.ts';
import { plainText } from './text.ts';
import { readUpdate } from './updates.ts';

const channel = 'C0123456789';
const user = 'U0123456789';
const settings = { chat: { session_per: 'thread' }, target: {} };

const read = (body: unknown, chat: object = {}): ChatUpdate =>
  readUpdate(body, { ...settings, chat: { ...settings.chat, ...chat } }, Date.now());
function message(body: unknown, chat: object = {}): ChatMessage {
  const update = read(body, chat);
  if (update.kind !== 'message') throw new Error(`not a message: ${JSON.stringify(update)}`);
  return update;
}

it.each([
  ['C0123456789', 'C0123456789'],
  ['D1', 'D1'],
  ['#general', null],
  ['general', null],
  [7, null],
])('the address %j leads to the chat %j', (address, chat) => {
  expect(slack.chatOf({ channel: address })).toBe(chat);
});

describe('a message in Slack', () => {
  it('opens a thread in a channel, and its id is the same in both events of a mention', () => {
    const ts = slackTs();
    const said = { channel, user, text: `<@${SLACK_BOT}> what &amp; why?`, ts };
    const first = message(slackMessage(said));
    expect(first).toMatchObject({
      updateId: `${SLACK_TEAM}:${channel}:${ts}`,
      place: { platform: 'slack', chat: channel, thread: ts },
      from: { id: user, bot: false },
      message: ts,
      replyTo: null,
      text: 'what & why?',
      direct: false,
      mentioned: true,
      command: null,
      forwarded: false,
      answerTo: { channel, thread_ts: ts },
    });
    const second = message(slackEvent({ type: 'app_mention', event_ts: ts, ...said }));
    expect(second.updateId).toBe(first.updateId);
    expect(second).toMatchObject({ text: 'what & why?', mentioned: true });
  });

  it('in a thread belongs to the thread, and the answer goes there', () => {
    const root = slackTs();
    expect(message(slackMessage({ channel, user, text: 'more', thread_ts: root }))).toMatchObject({
      place: { thread: root },
      replyTo: root,
      mentioned: false,
      answerTo: { channel, thread_ts: root },
    });
  });

  it('to the bot alone, or with one session per channel, is answered in place', () => {
    const direct = message(slackMessage({ channel: 'D0123456789', user, text: 'hello' }));
    expect(direct).toMatchObject({
      direct: true,
      place: { thread: null },
      answerTo: { channel: 'D0123456789' },
    });
    const perChat = message(slackMessage({ channel, user, text: 'hello' }), { session_per: 'chat' });
    expect(perChat).toMatchObject({ place: { thread: null }, answerTo: { channel } });
    expect(perChat.answerTo).not.toHaveProperty('thread_ts');
  });

  it('has its command behind the mention, and its files by their ids', () => {
    const said = { channel, user, text: `<@${SLACK_BOT}|angelia> /Deny  too risky` };
    expect(message(slackMessage(said)).command).toEqual({ name: 'deny', rest: 'too risky' });
    const shared = slackMessage(
      { channel, user, text: '' },
      {
        subtype: 'file_share',
        files: [
          {
            id: 'F0123456789',
            name: 'a.pdf',
            mimetype: 'application/pdf',
            size: 9,
            url_private: 'https://x',
          },
        ],
      },
    );
    expect(message(shared).files).toEqual([
      { id: 'F0123456789', name: 'a.pdf', mimeType: 'application/pdf', bytes: 9 },
    ]);
  });

  it('that somebody shared is never a command, and a comment on it is', () => {
    const share = { attachments: [{ is_share: true, is_msg_unfurl: true, text: '/stop' }] };
    expect(message(slackMessage({ channel, user, text: '' }, share))).toMatchObject({
      forwarded: true,
      command: null,
      text: '/stop',
    });
    const comment = { channel, user, text: `<@${SLACK_BOT}> /status` };
    expect(message(slackMessage(comment, share))).toMatchObject({
      forwarded: false,
      command: { name: 'status' },
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ['an edit', { subtype: 'message_changed', hidden: true, message: { text: 'x' } }],
    ['a deletion', { subtype: 'message_deleted', hidden: true, deleted_ts: '1.1' }],
    ['what a bot writes', { subtype: 'bot_message', bot_id: 'B0123456789' }],
    ['what our app or another writes', { bot_id: 'B0123456789', app_id: 'A0123456789' }],
    ['somebody who joins', { subtype: 'channel_join' }],
    ['a reaction', { type: 'reaction_added', item: { type: 'message', channel, ts: '1.1' } }],
    ['what is two days old', { ts: '1355517523.000005' }],
    ['an empty text', { text: '  ' }],
    ['a message without a user', { user: undefined }],
    ['a channel that is no text', { channel: 7 }],
  ])('%s is no message', (_what, more) => {
    expect(read(slackMessage({ channel, user, text: 'x' }, more)).kind).toBe('other');
  });

  it.each([
    null,
    undefined,
    'text',
    [],
    {},
    { type: 'event_callback' },
    { payload: '{"cut' },
    { command: '/x' },
  ])('%j is no update, and no error', (body) => expect(read(body).kind).toBe('other'));
});

it('the text is as people read it', () => {
  expect(
    plainText(
      '<!here> ask <@U1|ann> in <#C1|ops> about <https://x.io/a?b=1&amp;c|the page>, <https://x.io>, ' +
        '<https://x.io|x.io>, <mailto:a@x.io|a@x.io>, &lt;b&gt; by <!date^1392734382^{date}|Feb 18>',
    ),
  ).toBe(
    '@here ask @ann in #ops about the page (https://x.io/a?b=1&c), https://x.io, https://x.io, a@x.io, <b> by Feb 18',
  );
});

describe('a click in Slack', () => {
  it('has the data of its button, and each click has an id of its own', () => {
    const click = { channel, user, ts: '1405894322.002768', value: 'a1.data' };
    const first = read(slackClick(click));
    expect(first).toMatchObject({
      kind: 'click',
      // A message outside of threads begins its own, as delivery spells it.
      place: { platform: 'slack', chat: channel, thread: '1405894322.002768' },
      from: { id: user, name: user.toLowerCase() },
      message: '1405894322.002768',
      data: 'a1.data',
    });
    expect(read(slackClick(click)).updateId).not.toBe(first.updateId);
    expect(read(slackClick({ ...click, thread_ts: '1405894300.000001' }))).toMatchObject({
      place: { thread: '1405894300.000001' },
      acknowledgement: { thread_ts: '1405894300.000001' },
    });
  });
});

describe('a slash command in Slack', () => {
  it('has the command as its first word, and /help without one', () => {
    expect(read(slackCommand({ channel, user, text: 'resume 0192' }))).toMatchObject({
      kind: 'message',
      mentioned: true,
      direct: false,
      command: { name: 'resume', rest: '0192' },
      answerTo: { channel },
    });
    expect(read(slackCommand({ channel, user, text: '' }))).toMatchObject({ command: { name: 'help' } });
    const direct = read(slackCommand({ channel: 'D0123456789', user, text: '/status' }));
    expect(direct).toMatchObject({ direct: true, command: { name: 'status', rest: '' } });
  });
});

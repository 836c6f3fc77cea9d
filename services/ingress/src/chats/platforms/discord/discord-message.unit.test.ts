import { describe, expect, it } from '@jest/globals';
import { type MessageSurroundings, readMessage } from './discord-message.ts';

const anna = { id: '80351110224678912', name: 'Anna' };
const bot = { id: '1', name: 'angelia', bot: true };
const inChannel: MessageSurroundings = { botId: '1', direct: false, parent: null };

interface Person {
  readonly id: string;
  readonly name?: string;
  readonly bot?: boolean;
}
const userOf = ({ id, name = `user${id}`, ...more }: Person) => ({
  id,
  username: name.toLowerCase(),
  discriminator: '0',
  global_name: name,
  avatar: null,
  ...more,
});

interface Said {
  readonly text?: string;
  readonly from?: Person;
  readonly channel?: string;
  readonly mentions?: readonly Person[];
  readonly replyTo?: string;
  readonly over?: object;
}

/** The example of Discord's reference, as the gateway sends it. */
function read(
  {
    text = 'Supa Hot',
    from = anna,
    channel = '290926798999357250',
    mentions = [],
    replyTo,
    over = {},
  }: Said = {},
  around = inChannel,
) {
  const reference = { message_reference: { type: 0, channel_id: channel, message_id: replyTo } };
  const message = {
    id: '334385199974967042',
    type: replyTo === undefined ? 0 : 19,
    channel_id: channel,
    guild_id: '290926798626357999',
    author: userOf(from),
    member: { nick: null, roles: [] },
    content: text,
    timestamp: '2017-07-11T17:27:07.299000+00:00',
    edited_timestamp: null,
    mentions: mentions.map(userOf),
    mention_roles: [],
    attachments: [],
    embeds: [],
    ...(replyTo === undefined ? {} : reference),
    ...over,
  };
  return readMessage(message, around);
}

describe('a message of Discord', () => {
  it('is read with its place, its author and where to answer', () => {
    expect(read()).toEqual({
      kind: 'message',
      updateId: '1:334385199974967042',
      place: { platform: 'discord', chat: '290926798999357250', thread: null },
      from: { id: anna.id, name: 'Anna', bot: false },
      message: '334385199974967042',
      replyTo: null,
      text: 'Supa Hot',
      direct: false,
      mentioned: false,
      command: null,
      forwarded: false,
      files: [],
      answerTo: { channel_id: '290926798999357250' },
    });
  });

  it('in a thread stands in the thread, which is a channel below another one', () => {
    expect(read({ channel: '55' }, { ...inChannel, parent: '290926798999357250' })).toMatchObject({
      place: { chat: '55', thread: '55', parent: '290926798999357250' },
      answerTo: { channel_id: '55', thread_id: '55' },
    });
  });

  it('that replies names the message; one that was pinned or forwarded does not', () => {
    expect(read({ replyTo: '306588351130107906' })).toMatchObject({ replyTo: '306588351130107906' });
    const reference = { message_reference: { type: 1, message_id: '9', channel_id: '8' } };
    const snapshots = [{ message: { content: '/stop', attachments: [], type: 0 } }];
    expect(read({ text: '', over: { ...reference, message_snapshots: snapshots } })).toMatchObject({
      replyTo: null,
      forwarded: true,
      text: '/stop',
      command: null,
    });
  });

  it('loses our mention, and other mentions become names', () => {
    const mentions = [bot, { id: '42', name: 'Ben' }];
    expect(read({ text: '<@1> ask <@!42> and <@43>', mentions })).toMatchObject({
      text: 'ask @Ben and <@43>',
      mentioned: true,
    });
    expect(read({ text: 'for you', mentions: [bot], replyTo: '7' })).toMatchObject({ mentioned: true });
    expect(read({ text: '<@1> /new The title', mentions: [bot] })).toMatchObject({
      command: { name: 'new', rest: 'The title' },
    });
  });

  it('has its files, by the address that the CDN signed', () => {
    const url = 'https://cdn.discordapp.com/attachments/1/2/a.png?ex=1&is=2&hm=3';
    const attachments = [{ id: '2', filename: 'a.png', size: 1_234, content_type: 'image/png', url }];
    expect(read({ text: '', over: { attachments } })).toMatchObject({
      text: '',
      files: [{ id: url, name: 'a.png', mimeType: 'image/png', bytes: 1_234 }],
    });
  });

  it.each([
    ['of a bot', { from: bot }],
    ['of a webhook', { over: { webhook_id: '77' } }],
    ['of ourselves', { from: { id: '1' } }],
    ['that says that somebody joined', { over: { type: 7 } }],
    ['that opens a thread', { over: { type: 21 } }],
    ['without anything to read', { text: ' ' }],
  ] as [string, Said][])('%s starts nothing', (_, said) => {
    expect(read(said)).toMatchObject({ kind: 'other' });
  });

  it.each([null, 7, {}, { id: 5 }])('that is not one (%j) starts nothing', (raw) => {
    expect(readMessage(raw, inChannel)).toMatchObject({ kind: 'other' });
  });
});

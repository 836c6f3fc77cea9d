import { describe, expect, it } from '@jest/globals';
import { sinceInvited } from './invites.ts';
import { readEvent } from './matrix-event.ts';

const self = '@angelia:example.org';
const room = '!636q39766251:example.org';
const members = {
  names: new Map([
    [self, 'Angelia'],
    ['@anna:example.org', 'Anna'],
  ]),
  direct: false,
};
const event = (content: unknown, over = {}) => ({
  type: 'm.room.message',
  event_id: '$143273582443PhrSn',
  sender: '@anna:example.org',
  origin_server_ts: 1_432_735_824_653,
  unsigned: { age: 1_234 },
  content,
  ...over,
});
const text = (body: string, more = {}) => ({ msgtype: 'm.text', body, ...more });
const read = (content: unknown, over = {}) => readEvent(event(content, over), { self, room, members });

describe('a message of Matrix', () => {
  it('is read with its room, its author and where to answer', () => {
    expect(read(text('This is an example', { 'm.mentions': {} }))).toEqual({
      kind: 'message',
      updateId: `${self}:$143273582443PhrSn`,
      place: { platform: 'matrix', chat: room, thread: null },
      from: { id: '@anna:example.org', name: 'Anna', bot: false },
      message: '$143273582443PhrSn',
      replyTo: null,
      text: 'This is an example',
      direct: false,
      mentioned: false,
      command: null,
      forwarded: false,
      files: [],
      answerTo: { room_id: room },
    });
  });

  it('that replies loses the quote that older clients repeat', () => {
    const reply = { 'm.relates_to': { 'm.in_reply_to': { event_id: '$asked' } } };
    expect(read(text('> <@angelia:example.org> which?\n> of them\n\nthe first', reply))).toMatchObject({
      replyTo: '$asked',
      text: 'the first',
    });
    expect(read(text('> 5 is my answer', reply))).toMatchObject({ text: '> 5 is my answer' });
  });

  it('in a thread replies only if a person chose the message', () => {
    const thread = (more: object) => ({
      'm.relates_to': { rel_type: 'm.thread', event_id: '$root', ...more },
    });
    const before = { 'm.in_reply_to': { event_id: '$before' } };
    expect(read(text('on', thread({ is_falling_back: true, ...before })))).toMatchObject({
      place: { thread: '$root' },
      replyTo: null,
      answerTo: { room_id: room, thread_id: '$root' },
    });
    expect(read(text('this one', thread({ is_falling_back: false, ...before })))).toMatchObject({
      replyTo: '$before',
    });
  });

  it('mentions us if its client says so; of clients that never say, the text counts', () => {
    expect(read(text('Angelia: hello', { 'm.mentions': { user_ids: [self] } }))).toMatchObject({
      mentioned: true,
      text: 'hello',
    });
    expect(read(text('Angelia: hello', { 'm.mentions': {} }))).toMatchObject({ mentioned: false });
    expect(read(text('@angelia:example.org hello'))).toMatchObject({ mentioned: true, text: 'hello' });
    expect(read(text('Angelias are flowers'))).toMatchObject({
      mentioned: false,
      text: 'Angelias are flowers',
    });
  });

  it('has commands with a slash, and with ! because clients keep the slash for themselves', () => {
    expect(read(text('/status'))).toMatchObject({ command: { name: 'status', rest: '' } });
    expect(read(text('!deny too risky'))).toMatchObject({ command: { name: 'deny', rest: 'too risky' } });
  });

  it('has its file', () => {
    const image = {
      msgtype: 'm.image',
      body: 'the plan',
      filename: 'plan.png',
      url: 'mxc://example.org/JWEIFJgwEIhweiWJE',
      info: { mimetype: 'image/png', size: 31_037, w: 10, h: 10 },
    };
    expect(read(image)).toMatchObject({
      text: 'the plan',
      files: [{ id: image.url, name: 'plan.png', mimeType: 'image/png', bytes: 31_037 }],
    });
  });

  it.each([
    [
      'an edit',
      text('* new', {
        'm.new_content': text('new'),
        'm.relates_to': { rel_type: 'm.replace', event_id: '$1' },
      }),
      {},
    ],
    ['our own', text('me'), { sender: self }],
    ['a notice of a bot', { msgtype: 'm.notice', body: 'done' }, {}],
    ['a redacted one', {}, {}],
    [
      'a reaction',
      { 'm.relates_to': { rel_type: 'm.annotation', event_id: '$1', key: '👍' } },
      { type: 'm.reaction' },
    ],
    ['an encrypted one', { algorithm: 'm.megolm.v1.aes-sha2' }, { type: 'm.room.encrypted' }],
    ['a state event', text('x'), { state_key: '' }],
    ['a location', { msgtype: 'm.location', body: 'here', geo_uri: 'geo:1,2' }, {}],
  ])('%s starts nothing', (_, content, over) => {
    expect(read(content, over)).toMatchObject({ kind: 'other' });
  });

  it.each([null, 7, {}, { type: 'm.room.message' }])('that is none (%j) starts nothing', (raw) => {
    expect(readEvent(raw, { self, room, members })).toMatchObject({ kind: 'other' });
  });
});

describe('the history of a room that we have just joined', () => {
  const member = (who: string, membership: string, before?: string) => ({
    ...event({ membership }, { type: 'm.room.member', state_key: who }),
    unsigned: before === undefined ? {} : { prev_content: { membership: before } },
  });
  const said = (body: string) => event(text(body));

  it('counts from the invitation on', () => {
    const [old, hello] = [said('old'), said('hello')];
    expect(sinceInvited([old, member(self, 'invite'), hello, member(self, 'join', 'invite')], self)).toEqual([
      hello,
      member(self, 'join', 'invite'),
    ]);
    expect(sinceInvited([old, member(self, 'join'), hello], self)).toEqual([hello]);
  });

  it('is all of it if we were there before: a new name of ours, or somebody else, is no joining', () => {
    const events = [
      said('one'),
      member(self, 'join', 'join'),
      member('@ben:example.org', 'join'),
      said('two'),
    ];
    expect(sinceInvited(events, self)).toEqual(events);
  });
});

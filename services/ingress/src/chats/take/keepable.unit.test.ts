import { describe, expect, it } from '@jest/globals';
import type { ChatMessage } from '../platform.ts';
import { isKeepable } from './keepable.ts';

const message: ChatMessage = {
  kind: 'message',
  updateId: '@us:x:$1',
  place: { platform: 'matrix', chat: '!room:x', thread: null },
  from: { id: '@ada:x', name: 'Ada', bot: false },
  message: '$1',
  replyTo: null,
  text: 'any text \u0000 at all',
  direct: true,
  mentioned: true,
  command: null,
  forwarded: false,
  files: [],
  answerTo: { room_id: '!room:x' },
};

describe('the ids of an update', () => {
  it('can be kept, also if its text could not', () => {
    expect(isKeepable(message)).toBe(true);
  });

  it.each<[string, Partial<ChatMessage>]>([
    ['U+0000', { answerTo: { room_id: '!room:x', thread_id: '$\u0000' } }],
    ['half a surrogate pair', { message: '$\ud83d' }],
    ['a length that no index takes', { place: { ...message.place, thread: 'x'.repeat(3_000) } }],
    ['U+0000 in a list', { answerTo: { to: ['a\u0000@b.c'] } }],
    ['U+0000 in the name of the sender', { from: { id: '@a\u0000:x', name: 'a', bot: false } }],
    ['U+0000 in what it replies to', { replyTo: '\u0000' }],
    ['a long key', { updateId: 'x'.repeat(3_000) }],
  ])('cannot be kept with %s', (_, change) => {
    expect(isKeepable({ ...message, ...change })).toBe(false);
  });
});

import { describe, expect, it } from '@jest/globals';
import { messageKey, threadKey } from './receipt-keys.ts';

const jane = { platform: 'email', chat: 'jane@people.test', thread: null } as const;
const bob = { ...jane, chat: 'bob@people.test' };
const OURS = `<angelia.${'0123456789abcdef'.repeat(2)}@example.com>`;

describe('the key of a mail', () => {
  it('of ours is the same for each of its readers: nobody can guess its Message-ID', () => {
    expect(messageKey(jane, OURS)).toBe(messageKey(bob, OURS));
    expect(threadKey(jane, OURS)).toBe(threadKey(bob, OURS));
  });

  it('that began with somebody’s own mail is theirs alone: they chose its Message-ID', () => {
    for (const id of ['<1@people.test>', '<s.3@example.com>', '<angelia.0@example.com>', `x${OURS}`]) {
      expect(threadKey(jane, id)).not.toBe(threadKey(bob, id));
      expect(messageKey(jane, id)).not.toBe(messageKey(bob, id));
    }
  });

  it('is not that of a message of the same id in another chat', () => {
    const telegram = { platform: 'telegram', chat: '1', thread: null } as const;
    expect(messageKey(telegram, '5')).not.toBe(messageKey({ ...telegram, chat: '2' }, '5'));
    expect(messageKey(telegram, '5')).not.toBe(threadKey(telegram, '5'));
  });
});

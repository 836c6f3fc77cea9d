import { describe, expect, it } from '@jest/globals';
import { meaningOfClose } from './gateway-close.ts';
import { idOfTime, newerId, readPosition, writePosition } from './gateway-position.ts';

describe('the position in the gateway', () => {
  it('comes back whole, and what is not one is none', () => {
    const position = { session: 's', url: 'wss://gateway.discord.gg', seq: 7, botId: '1', newest: '9' };
    expect(readPosition(writePosition(position))).toEqual(position);
    for (const offset of [null, '', '7', '{"session":"s"}']) expect(readPosition(offset)).toBeNull();
  });

  it('compares ids as numbers, which JavaScript would round', () => {
    expect(newerId('9007199254740993', '9007199254740992')).toBe('9007199254740993');
    expect(newerId('99', '100')).toBe('100');
    // The example of Discord's reference: 175928847299117063 was made at 2016-04-30 11:18:25.796 UTC.
    const id = BigInt(idOfTime(Date.UTC(2016, 3, 30, 11, 18, 25, 796)));
    expect(id >> 22n).toBe(175928847299117063n >> 22n);
  });
});

describe('a close of the gateway', () => {
  it.each([4004, 4010, 4011, 4012, 4013, 4014])('with %i is final, and says what to do', (code) => {
    expect(meaningOfClose(code)).toMatchObject({ kind: 'final', reason: expect.stringContaining(`${code}`) });
  });

  it.each([1000, 1001, 4007, 4009])('with %i ends the session', (code) => {
    expect(meaningOfClose(code)).toEqual({ kind: 'start-anew' });
  });

  it.each([1006, 4000, 4008])('with %i leaves the session to resume', (code) => {
    expect(meaningOfClose(code)).toEqual({ kind: 'resume' });
  });
});

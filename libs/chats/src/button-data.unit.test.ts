import { sessionId } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { buttonData, readButtonData } from './button-data.ts';

const id = sessionId('01935a3c-7e1b-7cc0-8a4f-9d1f2e3a4b5c');

describe('the data of a button', () => {
  it.each(['choice-0', 'choice-24', 'approve', 'approve-session', 'deny'])(
    '%s comes back whole',
    (action) => {
      const press = { sessionId: id, output: 4_711, action };
      expect(readButtonData(buttonData(press))).toEqual(press);
    },
  );

  it('fits the 64 bytes of Telegram', () => {
    const data = buttonData({ sessionId: id, output: 99_999_999, action: 'approve-session' });
    expect(Buffer.byteLength(data)).toBeLessThanOrEqual(64);
  });

  it.each(['', 'a1.x.1.deny', 'a2.AZNaPH4bfMCKT50fLjpLXA.1.deny', 'a1.AZNaPH4bfMCKT50fLjpLXA.1.erase'])(
    'of somebody else is not read: %s',
    (data) => {
      expect(readButtonData(data)).toBeNull();
    },
  );
});

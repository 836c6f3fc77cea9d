import { expect, it } from '@jest/globals';
import { EarlyHints } from './early-hints.ts';
import type { UnhintedEvent } from './read-for-relay.ts';

const event = (position: number, tx = '9'): UnhintedEvent => ({
  cursor: { epoch: 1, tx, position },
  hint: { stream_id: 's', version: 1, type: 't', eventId: `e${position}` },
  visible: false,
});

it('an event that was hinted early is known until the relay has passed it, also if it is never read again', () => {
  const early = new EarlyHints();
  early.add(event(1));
  early.add(event(2));
  early.forgetUpTo({ epoch: 1, tx: '9', position: 1 });
  expect([early.has(event(1)), early.has(event(2)), early.size]).toEqual([false, true, 1]);
});

it('places are compared by epoch, transaction as a number, and position', () => {
  const early = new EarlyHints();
  early.add(event(1, '10'));
  early.forgetUpTo({ epoch: 1, tx: '9', position: 5 });
  expect(early.size).toBe(1);
  early.forgetUpTo({ epoch: 2, tx: '1', position: 0 });
  expect(early.size).toBe(0);
});

import { expect, it } from '@jest/globals';
import { EarlyHints } from './early-hints.ts';
import type { RelayEvent } from './read-for-relay.ts';

const event = (position: number, state: { hinted: boolean; visible: boolean }): RelayEvent => ({
  position,
  cursor: { epoch: 1, tx: '1', position },
  streamId: 's',
  version: position,
  type: 't',
  eventId: 'e',
  traceparent: null,
  ...state,
});

it('an event that is hinted before its order is decided is not hinted again, and is forgotten once the order is decided', () => {
  const early = new EarlyHints();
  const page = [event(1, { hinted: true, visible: false })];
  expect(early.unhinted(page)).toEqual(page);
  early.note(page);
  expect([early.unhinted(page), early.size]).toEqual([[], 1]);
  early.note([event(1, { hinted: true, visible: true })]);
  expect(early.size).toBe(0);
});

it('an event that is not hinted is never kept, since it may not be read again', () => {
  const early = new EarlyHints();
  const page = [event(1, { hinted: false, visible: false })];
  expect(early.unhinted(page)).toEqual([]);
  early.note(page);
  expect(early.size).toBe(0);
});

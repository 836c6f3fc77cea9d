import { expect, it } from '@jest/globals';
import type { AheadEvent } from '../tail/tail.ts';
import { HintedAhead } from './early-hints.ts';

const event = (position: number, state: { hinted: boolean; visible: boolean }): AheadEvent => ({
  position,
  cursor: { epoch: 1, tx: '1', position },
  streamId: 's',
  version: position,
  type: 't',
  eventId: 'e',
  traceparent: null,
  ...state,
});

it('an event that is hinted before its order is decided is not hinted again, and is forgotten when it is', () => {
  const ahead = new HintedAhead();
  const page = [event(1, { hinted: true, visible: false })];
  expect(ahead.unhinted(page)).toEqual(page);
  ahead.note(page);
  expect([ahead.unhinted(page), ahead.size]).toEqual([[], 1]);
  ahead.note([event(1, { hinted: true, visible: true })]);
  expect(ahead.size).toBe(0);
});

it('an event that is not hinted is never kept: it may not come up again', () => {
  const ahead = new HintedAhead();
  const page = [event(1, { hinted: false, visible: false })];
  expect(ahead.unhinted(page)).toEqual([]);
  ahead.note(page);
  expect(ahead.size).toBe(0);
});

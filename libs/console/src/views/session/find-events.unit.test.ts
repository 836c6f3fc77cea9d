import { expect, it } from '@jest/globals';
import { findEvents } from './find-events.ts';

const event = (version: number, type: string, data: unknown) => ({
  position: version,
  version,
  type,
  recorded_at: '',
  data,
  meta: { actor: 'delivery-2' },
});
const events = [
  event(1, 'session.created', { title: 'Review PR' }),
  event(2, 'tool.finished', { result: 'no such FILE' }),
  event(3, 'delivery.failed', { reason: 'rate limited' }),
];
const found = (search: string) => findEvents(events, search).map(({ version }) => version);

it('events are found by words in their type, data and who appended them', () => {
  expect(found('file tool')).toEqual([2]);
  expect(found('RATE')).toEqual([3]);
  expect(found('delivery-2')).toEqual([1, 2, 3]);
  expect(found('rate file')).toEqual([]);
  expect(findEvents(events, '  ')).toBe(events);
});

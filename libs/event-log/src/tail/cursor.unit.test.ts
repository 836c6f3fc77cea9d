import { expect, it } from '@jest/globals';
import { compareCursors, cursorText, parseCursor } from './cursor.ts';
import { TAIL_START } from './tail.ts';

it('cursors have the order of epoch, transaction and position, also beyond 2^53', () => {
  const inOrder = [
    TAIL_START,
    { epoch: 1, tx: '9', position: 7 },
    { epoch: 1, tx: '9', position: 10 },
    { epoch: 1, tx: '10', position: 2 },
    { epoch: 1, tx: '9223372036854775806', position: 1 },
    { epoch: 1, tx: '9223372036854775807', position: 1 },
    { epoch: 2, tx: '3', position: 1 },
  ];
  expect(inOrder.toReversed().sort(compareCursors)).toEqual(inOrder);
  for (const cursor of inOrder) {
    expect(compareCursors(cursor, { ...cursor })).toBe(0);
    expect(parseCursor(cursorText(cursor))).toEqual(cursor);
  }
});

it.each(['', '1', '1-2', '1-2-3-4', '-1-2-3', '01-2-3', '1-2-x', '1-2-3 ', '1-99999999999999999999-3'])(
  '%j is no cursor',
  (text) => expect(parseCursor(text)).toBeNull(),
);

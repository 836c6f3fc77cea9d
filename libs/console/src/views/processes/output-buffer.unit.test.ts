import { expect, it } from '@jest/globals';
import { EMPTY_OUTPUT, MOST_SHOWN, withPart } from './output-buffer.ts';

const part = (offset: number, output: string) => ({ offset, next_offset: offset + output.length, output });

it('parts of the output are put together', () => {
  const buffer = withPart(withPart(EMPTY_OUTPUT, part(0, 'one\n')), part(4, 'two\n'));
  expect(buffer).toEqual({ text: 'one\ntwo\n', next: 8, cut: false });
});

it('an empty part changes nothing', () => {
  const buffer = withPart(EMPTY_OUTPUT, part(0, 'one\n'));
  expect(withPart(buffer, part(4, ''))).toEqual(buffer);
});

it('output that begins later, or has a gap, says that its beginning is not shown', () => {
  expect(withPart(EMPTY_OUTPUT, part(100, 'late'))).toMatchObject({ text: 'late', cut: true });
  const before = withPart(EMPTY_OUTPUT, part(0, 'one\n'));
  expect(withPart(before, part(50, 'later'))).toEqual({ text: 'later', next: 55, cut: true });
});

it('endless output keeps its last megabyte, from the start of a line', () => {
  let buffer = EMPTY_OUTPUT;
  const line = `${'x'.repeat(99)}\n`;
  for (let n = 0; n < 30; n += 1) buffer = withPart(buffer, part(n * 100_000, line.repeat(1_000)));
  expect(buffer.text.length).toBeLessThanOrEqual(MOST_SHOWN);
  expect(buffer.text.length).toBeGreaterThan(MOST_SHOWN - 200);
  expect(buffer.text.startsWith('x'.repeat(99))).toBe(true);
  expect(buffer).toMatchObject({ cut: true, next: 3_000_000 });
});

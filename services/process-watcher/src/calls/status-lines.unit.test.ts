import { describe, expect, it } from '@jest/globals';
import { StatusLines } from './status-lines.ts';

const PREFIX = '::status ';

/** Feeds the text in pieces: where a piece ends must make no difference. */
function read(text: string, size: number) {
  const lines = new StatusLines(PREFIX);
  const bytes = Buffer.from(text);
  const statuses: string[] = [];
  for (let at = 0; at < bytes.length; at += size) statuses.push(...lines.feed(bytes.subarray(at, at + size)));
  statuses.push(...lines.end());
  return { statuses, answer: lines.answer };
}

describe('the output of an agent that is a program', () => {
  it.each([1, 2, 3, 7, 1_000])('is split into statuses and the answer (pieces of %i bytes)', (size) => {
    expect(read('::status läuft\nfirst\n::status\n ::status no\n::status  two \nsecond ü', size)).toEqual({
      statuses: ['läuft', 'two'],
      answer: 'first\n::status\n ::status no\nsecond ü',
    });
  });

  it('keeps everything else as it is, except empty lines at the end', () => {
    expect(read('\n  indented\r\n\n\n', 4)).toEqual({ statuses: [], answer: '\n  indented' });
  });

  it('may end with a status, and may hold nothing else', () => {
    expect(read('::status only', 5)).toEqual({ statuses: ['only'], answer: '' });
    expect(read('', 5)).toEqual({ statuses: [], answer: '' });
  });
});

import { describe, expect, it } from '@jest/globals';
import { fenced, fencedBlock, fenceNote, hasFence, markOf, withoutFences } from './untrusted-text.ts';

const MARK = markOf('seed', 1);

describe('a mark', () => {
  it('is derived from the seed and the turn, the same every time', () => {
    expect(MARK).toMatch(/^[0-9a-f]{12}$/);
    expect(markOf('seed', 1)).toBe(MARK);
    expect(new Set([MARK, markOf('seed', 2), markOf('seed2', 1), markOf('seed:1', 1)]).size).toBe(4);
  });
});

describe('a fence', () => {
  const texts = ['two words', 'a\nb', ' ', '[note]', `<untrusted-${'0'.repeat(12)}>`];

  it.each(texts)('encloses the unchanged text and can be removed again: %j', (text) => {
    for (const made of [fenced(text, MARK, 'sentence'), fencedBlock(text, MARK)]) {
      expect(made).toContain(text);
      expect(hasFence(made)).toBe(true);
      expect(hasFence(made, MARK)).toBe(true);
      expect(hasFence(made, markOf('seed', 2))).toBe(false);
      if (!text.includes('untrusted'))
        expect(withoutFences(`before ${made} after`)).toBe(`before ${text} after`);
    }
  });

  it('is left out if the value is too short for a sentence, or is the whole message', () => {
    expect(fenced('v1.2.3', MARK, 'sentence')).toBe('v1.2.3');
    expect(fenced('one line of words', MARK, 'alone')).toBe('one line of words');
    expect(fenced(' [note]', MARK, 'alone')).toContain(MARK);
  });

  it('is explained, with the current mark if there is one', () => {
    expect(fenceNote(MARK)).toContain(`MARK is ${MARK}.`);
    expect(fenceNote(null)).not.toContain(MARK);
    expect(fenceNote(null)).toContain('</untrusted-MARK>');
  });
});

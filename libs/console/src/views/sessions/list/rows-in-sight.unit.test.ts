import { describe, expect, it } from '@jest/globals';
import { placeToShow, rowsInSight } from './rows-in-sight.ts';

const HEIGHT = 60;
const SCREEN = 600;
const at = (scrollTop: number, count = 100_000) =>
  rowsInSight({ scrollTop, clientHeight: SCREEN }, { height: HEIGHT, count });

describe('the rows of a long list that are drawn', () => {
  it('are those on the screen and some beside it, wherever the reader is', () => {
    for (let top = 0; top <= 100_000 * HEIGHT - SCREEN; top += 12_347) {
      const { first, end } = at(top);
      expect(first).toBeLessThanOrEqual(Math.max(0, Math.floor(top / HEIGHT) - 10));
      expect(end).toBeGreaterThanOrEqual(Math.min(100_000, Math.ceil((top + SCREEN) / HEIGHT) + 10));
      expect(end - first).toBeLessThanOrEqual(40);
    }
  });

  it('are no more than there are', () => {
    expect(at(0, 0)).toEqual({ first: 0, end: 0 });
    expect(at(0, 3)).toEqual({ first: 0, end: 3 });
    expect(at(100_000 * HEIGHT)).toMatchObject({ end: 100_000 });
  });

  it('are the last ones if the list has become shorter than where the reader was', () => {
    expect(at(5_000_000, 30)).toEqual({ first: 10, end: 30 });
  });

  it('stay the same for some rows of a scroll', () => {
    expect(at(3_001)).toEqual(at(3_290));
    expect(at(3_001)).not.toEqual(at(3_301));
  });
});

describe('to show a row', () => {
  const scroller = { scrollTop: 1_000, clientHeight: SCREEN };

  it('nothing moves if it is wholly on the screen', () => {
    expect(placeToShow(20, scroller, HEIGHT)).toBe(1_000);
  });

  it('the list moves just as far as is needed', () => {
    expect(placeToShow(2, scroller, HEIGHT)).toBe(120);
    expect(placeToShow(40, scroller, HEIGHT)).toBe(41 * HEIGHT - SCREEN);
  });
});

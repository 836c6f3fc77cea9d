import { describe, expect, it } from '@jest/globals';
import { RouteLines } from './route-lines.ts';

const nobody = async () => [];
/** Lets in as many as there are places, and notes the order in which they were tried. */
function places(count: number) {
  const tried: string[] = [];
  let left = count;
  return {
    tried,
    fits: async (id: string) => {
      tried.push(id);
      left -= 1;
      return left >= 0;
    },
  };
}

describe('the line of a route', () => {
  it('is tried in the order of arrival, until one does not fit; that one stays the first', async () => {
    const lines = new RouteLines();
    for (const id of ['1', '2', '3', '2']) lines.wait('r', id);
    const two = places(2);
    await lines.tryOut('r', two.fits, nobody);
    expect(two.tried).toEqual(['1', '2', '3']);
    const more = places(9);
    await lines.tryOut('r', more.fits, nobody);
    expect(more.tried).toEqual(['3']);
    expect(lines.has('r')).toBe(false);
  });

  it('is another for each route', async () => {
    const lines = new RouteLines();
    lines.wait('r', '1');
    lines.wait('s', '2');
    const many = places(9);
    await lines.tryOut('r', many.fits, nobody);
    expect(many.tried).toEqual(['1']);
    expect(lines.routes).toEqual(['s']);
  });

  it('is capped; the rest is asked for when it has run out, and not before', async () => {
    const lines = new RouteLines(2);
    for (const id of ['1', '2', '3', '4']) lines.wait('r', id);
    const asked: number[] = [];
    const many = places(9);
    await lines.tryOut('r', many.fits, async (limit) => {
      asked.push(many.tried.length);
      return asked.length === 1 ? ['3', '4'].slice(0, limit) : [];
    });
    expect(many.tried).toEqual(['1', '2', '3', '4']);
    expect(asked).toEqual([2, 4]);
    expect(lines.has('r')).toBe(false);
  });

  it('is kept when the trial fails: the next one goes on', async () => {
    const lines = new RouteLines();
    lines.wait('r', '1');
    await expect(lines.tryOut('r', () => Promise.reject(new Error('away')), nobody)).rejects.toThrow('away');
    const many = places(1);
    await lines.tryOut('r', many.fits, nobody);
    expect(many.tried).toEqual(['1']);
  });

  it('is tried by one at a time', async () => {
    const lines = new RouteLines();
    lines.wait('r', '1');
    const many = places(9);
    await Promise.all([lines.tryOut('r', many.fits, nobody), lines.tryOut('r', many.fits, nobody)]);
    expect(many.tried).toEqual(['1']);
  });
});

import { describe, expect, it } from '@jest/globals';
import { Places } from './places.ts';

describe('places at a destination', () => {
  it('are so many, and one destination that is full leaves the others free', () => {
    const places = new Places({ perDestination: 2, maxParked: 10 });
    expect([places.take('a', false), places.take('a', false), places.take('a', false)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(places.take('b', false)).toBe(true);
  });

  it('go to who waited longest, and nobody overtakes', () => {
    const places = new Places({ perDestination: 1, maxParked: 10 });
    places.take('a', false);
    places.park('a', 'first');
    places.park('a', 'second');
    places.park('a', 'first');
    expect(places.free('a')).toBe('first');
    expect(places.take('a', true)).toBe(true);
    expect(places.free('a')).toBe('second');
    expect(places.free('a')).toBeNull();
    expect(places.parkedCount).toBe(0);
  });

  it('a newcomer waits behind those that wait, unless nobody is there to call them', () => {
    const places = new Places({ perDestination: 2, maxParked: 10 });
    places.take('a', false);
    places.take('a', false);
    places.park('a', 'first');
    places.park('a', 'second');
    expect(places.free('a')).toBe('first');
    expect(places.take('a', false)).toBe(false);
    expect(places.take('a', true)).toBe(true);

    const abandoned = new Places({ perDestination: 1, maxParked: 10 });
    abandoned.park('a', 'first');
    expect(abandoned.take('a', false)).toBe(true);
    expect(abandoned.free('a')).toBe('first');
  });

  it('remember no more than they may', () => {
    const places = new Places({ perDestination: 1, maxParked: 1 });
    expect(places.park('a', 'first')).toBe(true);
    expect(places.park('b', 'second')).toBe(false);
    places.forgetParked();
    expect(places.park('b', 'second')).toBe(true);
  });
});

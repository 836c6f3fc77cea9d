import { describe, expect, it } from '@jest/globals';
import { Room, VIEW_LAG_MS } from './room.ts';

const room = (limits: Record<string, number>, cap?: number) => new Room(new Map(Object.entries(limits)), cap);

describe('room for runs', () => {
  it('gives an agent as many places as its max_concurrency, and one again when a run leaves', () => {
    const places = room({ a: 2 });
    expect([places.enter('a'), places.enter('a'), places.enter('a')]).toEqual([true, true, false]);
    expect(places.hasPlace).toBe(false);
    places.leave('a');
    expect(places.hasPlace).toBe(true);
    expect(places.enter('a')).toBe(true);
  });

  it('keeps the places of one agent from being taken by another', () => {
    const places = room({ a: 1, b: 1 });
    expect(places.enter('a')).toBe(true);
    expect(places.hasPlace).toBe(true);
    expect(places.enter('b')).toBe(true);
    expect(places.hasPlace).toBe(false);
  });

  it('hands a free place to the longest waiting session that wants that agent', () => {
    const places = room({ a: 1, b: 1 });
    places.wait('first', 'b');
    places.wait('second', 'a');
    places.wait('third', null);
    expect(places.next('a')).toBe('second');
    expect(places.next('a')).toBe('third');
    expect(places.next('a')).toBe(null);
    expect(places.next('b')).toBe('first');
  });

  it('holds a session once, however often it is hinted', () => {
    const places = room({ a: 1 });
    for (let hint = 0; hint < 5; hint++) places.wait('same', null);
    expect(places.waiting).toBe(1);
    expect(places.next('a')).toBe('same');
    expect(places.next('a')).toBe(null);
  });

  it('leaves what is beyond its cap to the queue view, and says so', () => {
    const places = room({ a: 1 }, 2);
    places.wait('1', null);
    places.wait('2', null);
    expect(places.overflowed).toBe(false);
    places.wait('3', null);
    expect(places.overflowed).toBe(true);
    expect(places.waiting).toBe(2);
    // It may not have been in the view yet.
    places.caughtUp(performance.now());
    expect(places.overflowed).toBe(true);
    places.caughtUp(performance.now() + VIEW_LAG_MS);
    expect(places.overflowed).toBe(false);
  });

  it('does not refill from hints while the view has more: a flood of them would shut everybody else out', () => {
    const places = room({ a: 1 }, 2);
    for (const flood of ['1', '2', '3']) places.wait(flood, null);
    expect(places.next('a')).toBe('1');
    places.wait('4', null);
    places.picked('quiet');
    expect([places.next('a'), places.next('a'), places.next('a')]).toEqual(['2', 'quiet', null]);
  });

  it('takes nobody in any more once it is closed', () => {
    const places = room({ a: 1 });
    places.wait('1', null);
    places.close();
    expect(places.enter('a')).toBe(false);
    expect(places.hasPlace).toBe(false);
    expect(places.next('a')).toBe(null);
  });
});

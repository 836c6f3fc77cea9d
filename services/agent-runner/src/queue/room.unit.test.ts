import { describe, expect, it } from '@jest/globals';
import { Room, VIEW_LAG_MS } from './room.ts';

const room = (limits: Record<string, number>, cap?: number) => new Room(new Map(Object.entries(limits)), cap);

const anyone = { route: 'r', agent: null };
const of = (route: string) => ({ route, agent: 'a' });

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
    places.wait('first', { route: 'r', agent: 'b' });
    places.wait('second', { route: 'r', agent: 'a' });
    places.wait('third', anyone);
    expect(places.next('a')).toBe('second');
    expect(places.next('a')).toBe('third');
    expect(places.next('a')).toBe(null);
    expect(places.next('b')).toBe('first');
  });

  it('holds a session once, however often it is hinted', () => {
    const places = room({ a: 1 });
    for (let hint = 0; hint < 5; hint++) places.wait('same', anyone);
    expect(places.waiting).toBe(1);
    expect(places.next('a')).toBe('same');
    expect(places.next('a')).toBe(null);
  });

  it('leaves what is beyond its cap to the queue view, and says so', () => {
    const places = room({ a: 1 }, 2);
    places.wait('1', anyone);
    places.wait('2', anyone);
    expect(places.overflowed).toBe(false);
    places.wait('3', anyone);
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
    for (const flood of ['1', '2', '3']) places.wait(flood, anyone);
    expect(places.next('a')).toBe('1');
    places.wait('4', anyone);
    places.picked('quiet', 'quiet');
    expect([places.next('a'), places.next('a'), places.next('a')]).toEqual(['2', 'quiet', null]);
  });

  it('takes nobody in any more once it is closed', () => {
    const places = room({ a: 1 });
    places.wait('1', anyone);
    places.close();
    expect(places.enter('a')).toBe(false);
    expect(places.hasPlace).toBe(false);
    expect(places.next('a')).toBe(null);
  });
});

describe('a place that comes free', () => {
  const drawn = (places: Room, count: number) => Array.from({ length: count }, () => places.next('a'));

  it('goes round the routes that wait, each in its own order', () => {
    const places = room({ a: 1 });
    for (const id of ['x1', 'x2', 'x3', 'x4']) places.wait(id, of('x'));
    for (const id of ['y1', 'y2']) places.wait(id, of('y'));
    places.wait('z1', of('z'));
    expect(drawn(places, 8)).toEqual(['x1', 'y1', 'z1', 'x2', 'y2', 'x3', 'x4', null]);
  });

  it('goes to the route with the fewest runs at work, until each has its share', () => {
    const places = room({ a: 4 });
    for (let run = 0; run < 4; run++) places.began('flood');
    for (const id of ['f1', 'f2', 'f3']) places.wait(id, of('flood'));
    for (const id of ['q1', 'q2', 'q3']) places.wait(id, of('quiet'));
    const served: (string | null)[] = [];
    // A run of the flood ends each time, and whoever is drawn begins.
    for (let n = 0; n < 4; n++) {
      places.finished('flood');
      const next = places.next('a');
      places.began(next?.startsWith('q') ? 'quiet' : 'flood');
      served.push(next);
    }
    expect(served).toEqual(['q1', 'q2', 'f1', 'f2']);
  });

  it('passes over who wants another agent, without letting him lose his turn', () => {
    const places = room({ a: 1, b: 1 });
    places.wait('x-b', { route: 'x', agent: 'b' });
    places.wait('y-a', { route: 'y', agent: 'a' });
    expect([places.next('a'), places.next('a'), places.next('b')]).toEqual(['y-a', null, 'x-b']);
  });

  it('asks the view first when sessions were left to it, but not for every place', () => {
    const places = room({ a: 1 }, 1);
    places.wait('1', of('x'));
    expect(places.pickIsDue).toBe(false);
    places.wait('2', of('x'));
    expect(places.pickIsDue).toBe(true);
    places.lookingAtView();
    expect(places.pickIsDue).toBe(false);
  });

  it('does not take the whole of a flood over from the view', () => {
    const places = room({ a: 1 }, 100);
    const taken = Array.from({ length: 1_000 }, (_, n) => places.picked(`f${n}`, 'flood'));
    expect(taken.filter(Boolean)).toHaveLength(64);
    expect(places.waiting).toBe(64);
    for (let n = 0; n < 1_000; n++) places.picked(`r${n}`, `route ${n}`);
    expect(places.waiting).toBe(200);
  });
});

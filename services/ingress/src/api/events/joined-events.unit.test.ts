import { describe, expect, it } from '@jest/globals';
import { joined, SharedSlices } from './joined-events.ts';

const event = (position: number, text = `${position};`) => ({
  cursor: { epoch: 1, tx: '5', position },
  text,
});
const LONG = 'x'.repeat(40_000);
const events = [event(1), event(2, LONG), event(3, LONG), event(4), event(5)];
const textOf = ({ bytes }: { readonly bytes: Buffer }) => bytes.toString();

describe('events that are sent in one write', () => {
  it('end behind the event with which they are long enough', () => {
    const slice = joined(events, null);
    expect([textOf(slice), slice.count, slice.place.position]).toEqual([`1;${LONG}${LONG}`, 3, 3]);
  });

  it('leave out what the reader does not want, and still move its place', () => {
    const slice = joined(events, new Set(events.slice(4)));
    expect([textOf(slice), slice.count, slice.place.position]).toEqual(['5;', 5, 5]);
    expect(textOf(joined(events, new Set()))).toBe('');
  });

  it('are made once for all readers at the same place', () => {
    const shared = new SharedSlices<(typeof events)[number]>();
    const one = shared.of(events);
    expect(shared.of([...events]).bytes).toBe(one.bytes);
    const rest = shared.of(events.slice(3));
    expect(textOf(rest)).toBe('4;5;');
    expect(shared.of(events).bytes).toBe(one.bytes);
    expect(shared.of(events.slice(3)).bytes).toBe(rest.bytes);
  });

  it('are made anew when there are more', () => {
    const shared = new SharedSlices<(typeof events)[number]>();
    expect(textOf(shared.of(events.slice(3)))).toBe('4;5;');
    expect(textOf(shared.of([...events.slice(3), event(6)]))).toBe('4;5;6;');
    expect(textOf(shared.of(events.slice(3, 4)))).toBe('4;');
  });

  it('of many places at once are not all kept', () => {
    const shared = new SharedSlices<ReturnType<typeof event>>();
    const many = Array.from({ length: 40 }, (_, n) => event(n));
    const slices = many.map((_, n) => shared.of(many.slice(n)).bytes);
    const same = many.filter((_, n) => shared.of(many.slice(n)).bytes === slices[n]);
    expect(same).toHaveLength(8);
  });
});

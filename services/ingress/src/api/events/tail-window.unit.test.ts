import { describe, expect, it } from '@jest/globals';
import { TailWindow } from './tail-window.ts';

const at = (position: number) => ({ epoch: 1, tx: '5', position });
const event = (position: number, text = 'x') => ({ cursor: at(position), text });
const positions = (events: readonly { cursor: { position: number } }[] | null) =>
  events?.map(({ cursor }) => cursor.position) ?? null;

describe('the window of the newest events', () => {
  it('has everything behind its start, from any place', () => {
    const window = new TailWindow(at(10));
    expect(positions(window.after(at(10)))).toEqual([]);
    window.add([event(11), event(14)]);
    window.add([event(15)]);
    expect(window.end).toEqual(at(15));
    expect(positions(window.after(at(10)))).toEqual([11, 14, 15]);
    expect(positions(window.after(at(12)))).toEqual([14, 15]);
    expect(positions(window.after(at(15)))).toEqual([]);
    // A reader that caught up by itself may be ahead.
    expect(positions(window.after(at(20)))).toEqual([]);
    expect(window.after(at(9))).toBeNull();
  });

  it('keeps only so many, and says what it dropped', () => {
    const window = new TailWindow<ReturnType<typeof event>>(at(0), 3);
    window.add([1, 2, 3, 4, 5].map((position) => event(position)));
    expect(window.size).toEqual({ events: 3, characters: 3 });
    expect([window.start, window.end]).toEqual([at(2), at(5)]);
    expect(window.after(at(1))).toBeNull();
    expect(positions(window.after(at(2)))).toEqual([3, 4, 5]);
  });

  it('keeps only so much, also if one event alone is more', () => {
    const window = new TailWindow<ReturnType<typeof event>>(at(0), 100, 10);
    window.add([event(1, 'a'.repeat(6)), event(2, 'b'.repeat(6))]);
    expect([window.size.events, positions(window.after(at(1)))]).toEqual([1, [2]]);
    window.add([event(3, 'c'.repeat(50))]);
    expect(window.size).toEqual({ events: 0, characters: 0 });
    expect([window.start, window.after(at(2)), window.after(at(3))]).toEqual([at(3), null, []]);
  });
});

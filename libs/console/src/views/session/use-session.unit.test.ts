import { describe, expect, it } from '@jest/globals';
import { isBehind } from './use-session.ts';

const event = (type: string, output: number) => ({ type, data: { output } });

describe('the list of deliveries is behind the events', () => {
  it('while it does not know an end that they know', () => {
    const ended = [event('delivery.attempted', 4), event('delivery.succeeded', 4)];
    expect(isBehind([{ output: 4, status: 'pending' }], ended)).toBe(true);
    expect(isBehind([], ended)).toBe(true);
    expect(isBehind([{ output: 4, status: 'delivered' }], ended)).toBe(false);
    expect(isBehind([{ output: 4, status: 'pending' }], [event('delivery.dead', 4)])).toBe(true);
  });

  it('not while an attempt is under way, also one after the delivery was dead', () => {
    const again = [event('delivery.dead', 4), event('delivery.attempted', 4)];
    expect(isBehind([{ output: 4, status: 'pending' }], again)).toBe(false);
    expect(isBehind([], [event('session.created', 1)])).toBe(false);
  });
});

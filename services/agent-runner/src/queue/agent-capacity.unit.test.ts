import { describe, expect, it } from '@jest/globals';
import { AgentCapacity } from './agent-capacity.ts';

const capacity = (limits: Record<string, number>) => new AgentCapacity(new Map(Object.entries(limits)));

describe('the slots of agents', () => {
  it('are as many as max_concurrency; one comes free when a run ends', () => {
    const slots = capacity({ a: 2 });
    expect([slots.take('a'), slots.take('a'), slots.take('a')]).toEqual([true, true, false]);
    expect(slots.hasFreeSlot).toBe(false);
    slots.release('a');
    expect(slots.hasFreeSlot).toBe(true);
    expect(slots.take('a')).toBe(true);
  });

  it('of one agent are not taken by another', () => {
    const slots = capacity({ a: 1, b: 1 });
    expect(slots.take('a')).toBe(true);
    expect(slots.hasFreeSlot).toBe(true);
    expect(slots.take('b')).toBe(true);
    expect(slots.hasFreeSlot).toBe(false);
  });

  it('are not given out after close', () => {
    const slots = capacity({ a: 1 });
    slots.close();
    expect(slots.take('a')).toBe(false);
    expect(slots.hasFreeSlot).toBe(false);
  });
});

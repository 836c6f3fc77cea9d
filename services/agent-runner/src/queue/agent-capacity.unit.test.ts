import { describe, expect, it } from '@jest/globals';
import { AgentCapacity } from './agent-capacity.ts';

const capacity = (limits: Record<string, number>) => new AgentCapacity(new Map(Object.entries(limits)));

describe('the slots of agents', () => {
  it('are as many as max_concurrency; one comes free when a run ends', () => {
    const slots = capacity({ a: 2 });
    expect([slots.take('a'), slots.take('a'), slots.take('a')]).toEqual([true, true, false]);
    expect([slots.someAgentIsFull, slots.hasFreeSlotFor('a')]).toEqual([true, false]);
    slots.release('a');
    expect([slots.someAgentIsFull, slots.hasFreeSlotFor('a')]).toEqual([false, true]);
    expect(slots.take('a')).toBe(true);
  });

  it('of one agent are not taken by another', () => {
    const slots = capacity({ a: 1, b: 1 });
    expect(slots.take('a')).toBe(true);
    expect([slots.someAgentIsFull, slots.hasFreeSlotFor('b')]).toEqual([true, true]);
    expect([slots.take('b'), slots.take('b')]).toEqual([true, false]);
  });

  it('of an agent that is not in the config are a few', () => {
    const slots = capacity({ a: 1 });
    const taken = Array.from({ length: 17 }, () => slots.take('gone'));
    expect(taken.filter(Boolean)).toHaveLength(16);
  });

  it('are not given out after close', () => {
    const slots = capacity({ a: 1 });
    slots.close();
    expect(slots.take('a')).toBe(false);
    expect(slots.hasFreeSlotFor('a')).toBe(false);
  });
});

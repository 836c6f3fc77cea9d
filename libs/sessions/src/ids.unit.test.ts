import { isSessionId } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';

/** Its own copy of the module: ids of one process never go back, and other test files set the clock forward. */
const ownCopy = new URL('./ids.ts?own', import.meta.url).href;
const { newEventId, newSessionId, uuidV7 } = (await import(ownCopy)) as typeof import('./ids.ts');

const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

describe('ids', () => {
  it('is a uuid of version 7 with the variant of RFC 9562', () => {
    expect(newEventId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(isSessionId(newSessionId())).toBe(true);
  });

  it('carries the time in its first 48 bits', () => {
    // Far from the other tests.
    const now = Date.now() + 3_600_000;
    expect(timeOf(uuidV7(now))).toBe(now);
  });

  it('follows a clock that was wrong and is set right', () => {
    const now = Date.now();
    uuidV7(now + 86_400_000);
    expect(timeOf(uuidV7(now))).toBe(now);
  });

  it('ascends, also within one millisecond, past its counter, and when the clock is set back a little', () => {
    const now = Date.now() + 120_000;
    const ids = Array.from({ length: 10_000 }, () => uuidV7(now));
    ids.push(uuidV7(now - 5_000));
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('is random after the time: two processes that start together make different ids', () => {
    const tails = new Set(Array.from({ length: 1_000 }, () => newEventId().slice(19)));
    expect(tails.size).toBe(1_000);
  });
});

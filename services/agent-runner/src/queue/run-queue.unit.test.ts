import { type SessionId, sessionId } from '@angelia/contracts';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Offer, RunQueue, type Tried } from './run-queue.ts';
import { BLOCKED_LINE, VIEW_LAG_MS } from './waiting-list.ts';

const ids = (count: number, from = 1) => Array.from({ length: count }, (_, n) => `${from + n}`);

interface Given {
  readonly slots?: number;
  readonly cap?: number;
  /** The queue view of a route. */
  readonly ofRoute?: (limit: number) => readonly string[];
  /** The queue view. */
  readonly all?: (limit: number) => readonly string[];
}

/** A queue whose routes have so many places left, and which notes the order in which sessions are tried. */
function queueWith({ slots = 1, cap, ofRoute = () => [], all = () => [] }: Given = {}) {
  const state = { places: Number.POSITIVE_INFINITY, away: false, tried: [] as string[], views: 0 };
  /** Sessions that run, with the route and agent that they hold. */
  const running = new Map<string, { route: string; agent: string }>();
  const wanted = (route = 'r') => ({ route, agent: 'a' });
  const tryStart = async (id: SessionId, { withSlot }: Offer): Promise<Tried> => {
    if (state.away) throw new Error('away');
    state.tried.push(id);
    state.places -= 1;
    if (state.places < 0) return 'route_full';
    if (withSlot) running.set(id, wanted());
    return 'started';
  };
  const asQueued = (queued: readonly string[]) =>
    queued.map((id) => ({ sessionId: id, route: 'r', version: 1, runDueAt: 0 }));
  const queue = new RunQueue({
    limits: new Map([['a', slots]]),
    waitingCap: cap,
    view: {
      pick: async (limit) => {
        state.views += 1;
        return asQueued(all(limit));
      },
      pickOfRoute: async (_route, limit) => asQueued(ofRoute(limit)),
    },
    routeOf: async () => wanted(),
    tryStart,
    isInHand: (id) => running.has(id),
    inBackground: (work) => void work().catch(() => {}),
  });
  return {
    queue,
    state,
    running,
    block(route: string, ...[first, ...others]: readonly string[]) {
      queue.block(sessionId(first ?? ''), wanted(route));
      for (const id of others) queue.waitForRoute(sessionId(id), wanted(route));
    },
    /** Tries the route with so many places free; returns who was tried. */
    async retry(route: string, places: number): Promise<string[]> {
      state.places = places;
      state.tried = [];
      await queue.retryRoute(route);
      return state.tried;
    },
    /** Every slot is taken, and these wait for one. */
    wait(...waiting: string[]) {
      while (queue.takeSlot('a'));
      for (const id of waiting) queue.waitForSlot(sessionId(id), wanted());
    },
    /** Ends what runs, again and again, until nothing does. */
    async runAll(): Promise<void> {
      for (let n = 0; n < slots; n++) queue.freeSlot('a');
      await settle();
      while (running.size > 0) {
        const ended = [...running];
        running.clear();
        for (const [, held] of ended) queue.runEnded(held);
        await settle();
      }
    },
  };
}

/** Lets everything happen that needs no time to pass. */
const settle = () => jest.advanceTimersByTimeAsync(0);

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('the sessions that wait for a slot', () => {
  it('are started from memory, in order, each when a slot comes free: the view is not read', async () => {
    const { state, wait, runAll } = queueWith({ slots: 64 });
    wait(...ids(2_000));
    await runAll();
    expect(state.tried).toEqual(ids(2_000));
    expect(state.views).toBe(0);
  });

  it('are looked for in the view when nobody is left here, and fill every free slot', async () => {
    const elsewhere = ids(5, 100);
    const { queue, state, wait, runAll, running } = queueWith({ slots: 4, all: () => elsewhere });
    wait('1');
    await runAll();
    expect(state.tried).toEqual(['1']);
    await jest.advanceTimersByTimeAsync(VIEW_LAG_MS);
    expect(state.tried).toEqual(['1', ...elsewhere.slice(0, 4)]);
    running.delete('100');
    queue.runEnded({ route: 'r', agent: 'a' });
    await settle();
    expect(state.tried.at(-1)).toBe('104');
    expect(state.views).toBe(1);
  });

  it('that did not fit in memory come from the view before the memory is used up', async () => {
    const left = ids(5_000);
    const { state, wait, runAll } = queueWith({
      slots: 64,
      cap: 1_000,
      all: (limit) => {
        const tried = new Set(state.tried);
        return left.filter((id) => !tried.has(id)).slice(0, limit);
      },
    });
    wait(...left);
    await runAll();
    // The last ones wait for a view that may have been behind.
    await jest.advanceTimersByTimeAsync(VIEW_LAG_MS);
    await runAll();
    expect(new Set(state.tried).size).toBe(5_000);
    expect(state.tried).toHaveLength(5_000);
    // Not a query per session.
    expect(state.views).toBeLessThan(50);
  });

  it('are asked for again after a moment, not at full speed, while the view shows only what is in hand', async () => {
    const { queue, state, wait, running } = queueWith({ cap: 1, all: (limit) => Array(limit).fill('busy') });
    running.set('busy', { route: 'r', agent: 'a' });
    wait('1', '2');
    for (let ended = 0; ended < 10; ended++) {
      queue.freeSlot('a');
      await settle();
      queue.takeSlot('a');
    }
    expect([state.views, state.tried]).toEqual([1, ['1']]);
    await jest.advanceTimersByTimeAsync(VIEW_LAG_MS);
    expect(state.views).toBe(2);
  });

  it('stay when another could not be started because the log was away', async () => {
    const { queue, state, wait } = queueWith();
    wait('1', '2');
    state.away = true;
    queue.freeSlot('a');
    await settle();
    state.away = false;
    expect(queue.takeSlot('a')).toBe(true);
    queue.freeSlot('a');
    await settle();
    expect(state.tried).toEqual(['2']);
  });
});

describe('the sessions that wait for a full route', () => {
  it('are tried in the order of arrival until one does not fit; that one stays the first', async () => {
    const { queue, block, retry } = queueWith();
    block('r', '1', '2', '3', '2');
    expect(await retry('r', 2)).toEqual(['1', '2', '3']);
    expect(await retry('r', 9)).toEqual(['3']);
    expect(queue.isBlocked('r')).toBe(false);
  });

  it('have a line per route', async () => {
    const { queue, block, retry } = queueWith();
    block('r', '1');
    block('s', '2');
    expect(await retry('r', 9)).toEqual(['1']);
    expect([queue.isBlocked('r'), queue.isBlocked('s')]).toEqual([false, true]);
  });

  it('are capped; the view is asked for the rest when the line has run out, and not before', async () => {
    const asked: number[] = [];
    const rest = ids(2, BLOCKED_LINE + 1);
    const { queue, state, block, retry } = queueWith({
      ofRoute: (limit) => {
        asked.push(state.tried.length);
        return asked.length === 1 ? rest.slice(0, limit) : [];
      },
    });
    block('r', ...ids(BLOCKED_LINE), ...rest);
    expect(await retry('r', 100)).toEqual([...ids(BLOCKED_LINE), ...rest]);
    expect(asked).toEqual([BLOCKED_LINE]);
    expect(queue.isBlocked('r')).toBe(false);
  });

  it('are asked for again while the view gives whole pages', async () => {
    const pages = [ids(BLOCKED_LINE, 100), ids(1, 200)];
    const { block, retry } = queueWith({ ofRoute: () => pages.shift() ?? [] });
    block('r', ...ids(BLOCKED_LINE + 1));
    expect(await retry('r', 1_000)).toEqual([...ids(BLOCKED_LINE), ...ids(BLOCKED_LINE, 100), '200']);
  });

  it('stay when the try fails: the next one goes on', async () => {
    const { state, block, retry } = queueWith();
    block('r', '1');
    state.away = true;
    await expect(retry('r', 1)).rejects.toThrow('away');
    state.away = false;
    expect(await retry('r', 1)).toEqual(['1']);
  });

  it('are tried once at a time', async () => {
    const { queue, state, block } = queueWith();
    block('r', '1');
    state.places = 9;
    await Promise.all([queue.retryRoute('r'), queue.retryRoute('r')]);
    expect(state.tried).toEqual(['1']);
  });
});

describe('the limits of another config', () => {
  const limit = (slots: number) => new Map([['a', slots]]);

  it('give the slots that they add to the sessions that wait, in their order', async () => {
    const { queue, state } = queueWith();
    state.places = 9;
    expect(queue.takeSlot('a')).toBe(true);
    for (const id of ['1', '2', '3']) queue.waitForSlot(sessionId(id), { route: 'r', agent: 'a' });
    queue.setLimits(limit(3));
    await Promise.resolve();
    expect(state.tried).toEqual(['1', '2']);
    expect(queue.hasFreeSlotFor('a')).toBe(false);
    queue.setLimits(limit(5));
    await Promise.resolve();
    expect(state.tried).toEqual(['1', '2', '3']);
    // One slot is left, and nobody waits.
    expect([queue.takeSlot('a'), queue.takeSlot('a')]).toEqual([true, false]);
  });

  it('take away slots only as runs end', async () => {
    const { queue, state } = queueWith();
    state.places = 9;
    queue.setLimits(limit(3));
    for (let n = 0; n < 3; n += 1) expect(queue.takeSlot('a')).toBe(true);
    queue.waitForSlot(sessionId('1'), { route: 'r', agent: 'a' });
    queue.setLimits(limit(1));
    queue.freeSlot('a');
    queue.freeSlot('a');
    expect(state.tried).toEqual([]);
    queue.freeSlot('a');
    expect(state.tried).toEqual(['1']);
  });
});

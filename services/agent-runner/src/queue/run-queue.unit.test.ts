import { type SessionId, sessionId } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { RunQueue, type Tried } from './run-queue.ts';

const PAGE = 64;
const ids = (count: number, from = 1) => Array.from({ length: count }, (_, n) => `${from + n}`);

/** A queue whose routes have so many places left, and which notes the order in which sessions are tried. */
function queueWith(view: (limit: number) => readonly string[] = () => []) {
  const state = { places: 0, away: false, tried: [] as string[] };
  const tryStart = async (id: SessionId): Promise<Tried> => {
    if (state.away) throw new Error('away');
    state.tried.push(id);
    state.places -= 1;
    return state.places >= 0 ? { outcome: 'started', agent: 'a' } : { outcome: 'route_full' };
  };
  const queue = new RunQueue({
    limits: new Map([['a', 1]]),
    view: {
      pick: async () => [],
      pickOfRoute: async (route, limit) =>
        view(limit).map((id) => ({ sessionId: id, route, version: 1, runDueAt: 0 })),
    },
    tryStart,
    isInHand: () => false,
    inBackground: (work) => void work(),
  });
  const wanted = (route: string) => ({ route, agent: 'a' });
  return {
    queue,
    state,
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
  };
}

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
    const rest = ids(2, PAGE + 1);
    const { queue, state, block, retry } = queueWith((limit) => {
      asked.push(state.tried.length);
      return asked.length === 1 ? rest.slice(0, limit) : [];
    });
    block('r', ...ids(PAGE), ...rest);
    expect(await retry('r', 100)).toEqual([...ids(PAGE), ...rest]);
    expect(asked).toEqual([PAGE]);
    expect(queue.isBlocked('r')).toBe(false);
  });

  it('are asked for again while the view gives whole pages', async () => {
    const pages = [ids(PAGE, 100), ids(1, 200)];
    const { block, retry } = queueWith(() => pages.shift() ?? []);
    block('r', ...ids(PAGE + 1));
    expect(await retry('r', 1_000)).toEqual([...ids(PAGE), ...ids(PAGE, 100), '200']);
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

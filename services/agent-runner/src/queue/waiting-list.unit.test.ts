import { sessionId } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { VIEW_LAG_MS, WaitingList } from './waiting-list.ts';

/** A list and its clock, for ids that are easy to read. */
function waitingList(cap?: number) {
  const clock = { now: 1_000 };
  const runs = new Map<string, number>();
  const list = new WaitingList({ cap, now: () => clock.now });
  return {
    clock,
    runs,
    list,
    add: (id: string, route = 'r', agent: string | null = null) => list.add(sessionId(id), { route, agent }),
    block: (id: string, route = 'r') => list.block(sessionId(id), { route, agent: 'a' }),
    next: (agent = 'a') => list.next(agent, (route) => runs.get(route) ?? 0),
    /** What the view holds, as [id, route]. Returns the routes that the query left out. */
    refill: async (...queued: (readonly [string, string])[]) => {
      let except: readonly string[] = [];
      await list.refill(
        async (_limit, exceptRoutes) => {
          except = exceptRoutes;
          return queued.map(([id, route]) => ({ sessionId: id, route }));
        },
        () => false,
      );
      return except;
    },
    drain(agent = 'a'): string[] {
      const drawn: string[] = [];
      for (let next = this.next(agent); next !== null; next = this.next(agent)) drawn.push(next);
      return drawn;
    },
  };
}

describe('the waiting list', () => {
  it('gives a free slot to the session that has waited longest for that agent', () => {
    const waiting = waitingList();
    waiting.add('first', 'r', 'b');
    waiting.add('second', 'r', 'a');
    waiting.add('third', 'r', null);
    expect([waiting.next('a'), waiting.next('a'), waiting.next('a')]).toEqual(['second', 'third', null]);
    expect(waiting.next('b')).toBe('first');
  });

  it('holds a session once, however often it is hinted', () => {
    const waiting = waitingList();
    for (let hint = 0; hint < 5; hint++) waiting.add('same');
    expect(waiting.drain()).toEqual(['same']);
  });

  it('is empty and takes nobody in after close', () => {
    const waiting = waitingList();
    waiting.add('1');
    waiting.list.close();
    waiting.add('2');
    waiting.block('3');
    expect(waiting.drain()).toEqual([]);
    expect(waiting.list.hasRoom).toBe(false);
  });
});

describe('a slot that comes free', () => {
  it('goes round the routes that wait, each in its own order', () => {
    const waiting = waitingList();
    for (const id of ['x1', 'x2', 'x3', 'x4']) waiting.add(id, 'x', 'a');
    for (const id of ['y1', 'y2']) waiting.add(id, 'y', 'a');
    waiting.add('z1', 'z', 'a');
    expect(waiting.drain()).toEqual(['x1', 'y1', 'z1', 'x2', 'y2', 'x3', 'x4']);
  });

  it('goes to the route with the fewest runs in progress, until each has its share', () => {
    const waiting = waitingList();
    for (const id of ['f1', 'f2', 'f3']) waiting.add(id, 'flood', 'a');
    for (const id of ['q1', 'q2', 'q3']) waiting.add(id, 'quiet', 'a');
    let [flood, quiet] = [4, 0];
    const served: (string | null)[] = [];
    // Each time a run of the flood ends, and the session that is drawn starts.
    for (let n = 0; n < 4; n++) {
      flood -= 1;
      waiting.runs.set('flood', flood).set('quiet', quiet);
      const next = waiting.next();
      if (next?.startsWith('q')) quiet += 1;
      else flood += 1;
      served.push(next);
    }
    expect(served).toEqual(['q1', 'q2', 'f1', 'f2']);
  });

  it('passes over a session that wants another agent, which keeps its turn', () => {
    const waiting = waitingList();
    waiting.add('x-b', 'x', 'b');
    waiting.add('y-a', 'y', 'a');
    expect([waiting.next('a'), waiting.next('a'), waiting.next('b')]).toEqual(['y-a', null, 'x-b']);
  });
});

describe('a session beyond the cap', () => {
  it('is left to the queue view until the view has nothing more', async () => {
    const waiting = waitingList(2);
    waiting.add('1');
    waiting.add('2');
    expect(waiting.list.overflowed).toBe(false);
    waiting.add('3');
    expect(waiting.list.overflowed).toBe(true);
    // It may not have been in the view yet.
    await waiting.refill();
    expect(waiting.list.overflowed).toBe(true);
    waiting.clock.now += VIEW_LAG_MS;
    await waiting.refill();
    expect(waiting.list.overflowed).toBe(false);
    expect(waiting.drain()).toEqual(['1', '2']);
  });

  it('is not overtaken by hints while the view has more: a flood of them would shut out everybody else', async () => {
    const waiting = waitingList(2);
    for (const flood of ['1', '2', '3']) waiting.add(flood);
    expect(waiting.next()).toBe('1');
    waiting.add('4');
    await waiting.refill(['quiet', 'quiet']);
    expect(waiting.drain()).toEqual(['2', 'quiet']);
  });

  it('makes the next slot ask the view first, but not every slot', async () => {
    const waiting = waitingList(1);
    waiting.add('1');
    expect(waiting.list.refillIsDue).toBe(false);
    waiting.add('2');
    expect(waiting.list.refillIsDue).toBe(true);
    await waiting.refill();
    expect(waiting.list.refillIsDue).toBe(false);
  });

  it('does not bring the whole of a flood over from the view', async () => {
    const rows = (count: number, route: (n: number) => string) =>
      Array.from({ length: count }, (_, n) => [`${route(n)} ${n}`, route(n)] as const);
    const flooded = waitingList(100);
    await flooded.refill(...rows(1_000, () => 'flood'));
    expect(flooded.drain()).toHaveLength(64);
    const many = waitingList(100);
    await many.refill(...rows(1_000, () => 'flood'));
    await many.refill(...rows(1_000, (n) => `route ${n}`));
    expect(many.drain()).toHaveLength(200);
  });
});

describe('a blocked route', () => {
  it('is offered no slot, and the session that was refused stays the first of its line', () => {
    const waiting = waitingList();
    for (const id of ['2', '3']) waiting.add(id, 'full');
    waiting.add('other', 'open');
    waiting.block('1', 'full');
    waiting.add('4', 'full');
    expect(waiting.drain()).toEqual(['other']);
    expect(waiting.list.headOfBlocked('full')).toBe('1');
    waiting.list.unblock('full');
    expect(waiting.drain()).toEqual(['1', '2', '3', '4']);
  });

  it('takes no room from the others, and the refill from the view leaves it out', async () => {
    const waiting = waitingList(2);
    waiting.block('1', 'full');
    for (const id of ['2', '3', '4']) waiting.add(id, 'full');
    expect(waiting.list.hasRoom).toBe(true);
    expect(await waiting.refill()).toEqual(['full']);
  });

  it('whose line is capped leaves the rest in the view also when it is unblocked', () => {
    const waiting = waitingList();
    waiting.block('first');
    for (let n = 0; n < 64; n++) waiting.add(`session ${n}`);
    expect(waiting.list.overflowed).toBe(false);
    waiting.list.unblock('r');
    expect(waiting.list.overflowed).toBe(true);
    expect(waiting.drain()).toHaveLength(64);
  });
});

import { sessionId } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { BLOCKED_LINE, VIEW_LAG_MS, VIEW_PAGE, WaitingList } from './waiting-list.ts';

/** A list and its clock, for ids that are easy to read. */
function waitingList(cap?: number) {
  const clock = { now: 1_000 };
  const runs = new Map<string, number>();
  const list = new WaitingList({ cap, now: () => clock.now });
  return {
    clock,
    runs,
    list,
    add: (id: string, route = 'r', agent = 'a') => list.add(sessionId(id), { route, agent }),
    block: (id: string, route = 'r') => list.block(sessionId(id), { route, agent: 'a' }),
    next: (agent = 'a') => list.next(agent, (route) => runs.get(route) ?? 0),
    /** What the view shows, as [id, route]. Returns the routes that it left out. */
    refill: (...queued: (readonly [string, string])[]) => {
      const leftOut = list.routesToLeaveOut;
      const page = queued
        .filter(([, route]) => !leftOut.includes(route))
        .slice(0, VIEW_PAGE)
        .map(([id, route]) => [sessionId(id), { route, agent: 'a' }] as const);
      list.addFromView(page, { askedAt: clock.now, leftOut, isFull: page.length >= VIEW_PAGE });
      return leftOut;
    },
    drain(agent = 'a'): string[] {
      const drawn: string[] = [];
      for (let next = this.next(agent); next !== null; next = this.next(agent)) drawn.push(next);
      return drawn;
    },
  };
}

const rows = (count: number, route: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => [`${route(n)} ${n}`, route(n)] as const);

describe('the waiting list', () => {
  it('gives a free slot to the session that has waited longest for that agent', () => {
    const waiting = waitingList();
    waiting.add('first', 'r', 'b');
    waiting.add('second', 'r', 'a');
    waiting.add('third', 'r', 'a');
    expect([waiting.next('a'), waiting.next('a'), waiting.next('a')]).toEqual(['second', 'third', null]);
    expect(waiting.next('b')).toBe('first');
  });

  it('holds a session once, however often it is hinted', () => {
    const waiting = waitingList();
    for (let hint = 0; hint < 5; hint++) waiting.add('same');
    expect(waiting.drain()).toEqual(['same']);
  });

  it('keeps thousands in memory', () => {
    const waiting = waitingList();
    for (let n = 0; n < 10_000; n++) waiting.add(`${n}`);
    expect(waiting.list.overflowed).toBe(false);
    waiting.add('one too many');
    expect(waiting.list.overflowed).toBe(true);
    expect(waiting.drain()).toHaveLength(10_000);
  });

  it('is empty and takes nobody in after close', () => {
    const waiting = waitingList();
    waiting.add('1');
    waiting.list.close();
    waiting.add('2');
    waiting.block('3');
    waiting.refill(['4', 'r']);
    expect(waiting.drain()).toEqual([]);
    expect(waiting.list.hasRoom).toBe(false);
  });
});

describe('a slot that comes free', () => {
  it('goes round the routes that wait, each in its own order', () => {
    const waiting = waitingList();
    for (const id of ['x1', 'x2', 'x3', 'x4']) waiting.add(id, 'x');
    for (const id of ['y1', 'y2']) waiting.add(id, 'y');
    waiting.add('z1', 'z');
    expect(waiting.drain()).toEqual(['x1', 'y1', 'z1', 'x2', 'y2', 'x3', 'x4']);
  });

  it('goes to the route with the fewest runs in progress, until each has its share', () => {
    const waiting = waitingList();
    for (const id of ['f1', 'f2', 'f3']) waiting.add(id, 'flood');
    for (const id of ['q1', 'q2', 'q3']) waiting.add(id, 'quiet');
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
  it('is left to the queue view until the view has nothing more', () => {
    const waiting = waitingList(2);
    waiting.add('1');
    waiting.add('2');
    expect(waiting.list.overflowed).toBe(false);
    waiting.add('3');
    expect(waiting.list.overflowed).toBe(true);
    // It may not have been in the view yet.
    waiting.refill();
    expect(waiting.list.overflowed).toBe(true);
    waiting.clock.now += VIEW_LAG_MS;
    waiting.refill();
    expect(waiting.list.overflowed).toBe(false);
    expect(waiting.drain()).toEqual(['1', '2']);
  });

  it('is not overtaken by hints while the view has more: a flood of them would shut out everybody else', () => {
    const waiting = waitingList(2);
    for (const flood of ['1', '2', '3']) waiting.add(flood);
    expect(waiting.next()).toBe('1');
    waiting.add('4');
    waiting.refill(['quiet', 'quiet']);
    expect(waiting.drain()).toEqual(['2', 'quiet']);
  });

  it('is still in the view after a full page, and while a route is left out because it has enough here', () => {
    const waiting = waitingList(VIEW_PAGE);
    waiting.refill(...rows(VIEW_PAGE, () => 'flood'));
    expect(waiting.list.overflowed).toBe(true);
    expect(waiting.refill(['quiet', 'quiet'])).toEqual(['flood']);
    expect(waiting.list.overflowed).toBe(true);
    waiting.next();
    expect(waiting.refill()).toEqual([]);
    expect(waiting.list.overflowed).toBe(false);
  });

  it('does not bring the whole of a flood over from the view', () => {
    const flooded = waitingList(VIEW_PAGE);
    flooded.refill(...rows(5_000, () => 'flood'));
    flooded.refill(...rows(5_000, () => 'flood'));
    expect(flooded.drain()).toHaveLength(VIEW_PAGE);
    const many = waitingList(VIEW_PAGE);
    for (const page of [0, 1, 2, 3]) many.refill(...rows(VIEW_PAGE, (n) => `route ${page} ${n}`));
    expect(many.drain()).toHaveLength(2 * VIEW_PAGE);
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

  it('takes no room from the others, and the refill from the view leaves it out', () => {
    const waiting = waitingList(2);
    waiting.block('1', 'full');
    for (const id of ['2', '3', '4']) waiting.add(id, 'full');
    expect(waiting.list.hasRoom).toBe(true);
    expect(waiting.refill()).toEqual(['full']);
    expect(waiting.list.overflowed).toBe(false);
  });

  it('keeps a short line: the rest of a long one is left to the view, also when it is unblocked', () => {
    const waiting = waitingList();
    for (let n = 0; n < 5_000; n++) waiting.add(`session ${n}`);
    waiting.block('first');
    expect(waiting.list.overflowed).toBe(false);
    expect(waiting.list.has(sessionId('session 4999'))).toBe(false);
    waiting.list.unblock('r');
    expect(waiting.list.overflowed).toBe(true);
    const drawn = waiting.drain();
    expect([drawn.length, drawn[0], drawn[1]]).toEqual([BLOCKED_LINE, 'first', 'session 0']);
  });
});

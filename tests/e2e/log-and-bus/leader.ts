import { eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { ViewsObserver } from '../views.ts';

// One process leads the projection for all, and mostly relay and agenda as well. It may die or freeze at any time, under load.

const DUTIES = ['agenda', 'projection', 'relay'];

interface Leader {
  readonly name: string;
  readonly holder: string;
  readonly epoch: string;
  readonly live: boolean;
}

let sink: Sink;
let observer: ViewsObserver;

const leaders = () =>
  observer.query<Leader & { [key: string]: unknown }>(
    `SELECT name, holder, epoch::text, expires_at > clock_timestamp() AS live FROM angelia.leaders
     WHERE name = ANY ($1) ORDER BY name`,
    [DUTIES],
  );

const instanceOf = (holder: string) => holder.slice(0, holder.lastIndexOf('#'));

const allAreLed = () =>
  eventually(async () => {
    const rows = await leaders();
    return rows.length === DUTIES.length && rows.every(({ live }) => live) && rows;
  });

/** The process that leads the projection, and everything else that it leads. Never ingress, because the load goes through it. */
async function theLeader(): Promise<{ instance: string; holders: Set<string> }> {
  const leads = (rows: readonly Leader[], instance: string) =>
    rows.some(({ holder }) => instanceOf(holder) === instance);
  if (leads(await allAreLed(), 'ingress')) {
    await stack.hold('ingress'); // it gives up what it leads
    await eventually(async () => !leads(await allAreLed(), 'ingress'));
    await stack.resume('ingress');
    await eventually(() => stack.ready('ingress'));
  }
  const found = await allAreLed();
  const instance = instanceOf(found.find(({ name }) => name === 'projection')?.holder ?? '');
  const holders = found.map(({ holder }) => holder).filter((holder) => instanceOf(holder) === instance);
  return { instance, holders: new Set(holders) };
}

/** Waits until other processes lead all of it, and returns how long that took. */
async function takeover(from: ReadonlySet<string>): Promise<number> {
  const began = performance.now();
  await eventually(
    async () => {
      const rows = await leaders();
      return rows.length === DUTIES.length && rows.every(({ holder, live }) => live && !from.has(holder));
    },
    { describe: 'other processes lead all of it' },
  );
  return performance.now() - began;
}

interface Load {
  readonly sessionIds: string[];
  stop(): Promise<void>;
}

/** Posts about 20 sessions a second until it is stopped. */
function load(): Load {
  const sessionIds: string[] = [];
  let on = true;
  const posting = (async () => {
    for (let n = 0; on; n += 1) {
      const { status, sessionId } = await stack.post({ route: 'led', body: { text: `load ${n}` } });
      expect(status).toBe(202);
      sessionIds.push(sessionId);
      await pause(50);
    }
  })();
  return {
    sessionIds,
    stop: async () => {
      on = false;
      await posting;
    },
  };
}

/** Every session has ended, every answer has arrived, and the views equal a fold of the log: nothing is missing or out of order. */
async function allIsRight(sessionIds: readonly string[]): Promise<void> {
  for (const id of sessionIds) await stack.waitForEnd(id, { settled: true });
  // A killed leader may have been in the middle of a delivery: a second copy is marked as a possible duplicate.
  const copies = sessionIds.map((id) => sink.taken(id).map(({ payload }) => payload.possible_duplicate));
  expect(copies.filter((marks) => marks.length === 0)).toEqual([]);
  expect(copies.filter((marks) => marks.filter((marked) => !marked).length > 1)).toEqual([]);
  const folded = await observer.folded();
  expect(folded.sessions.map(({ session_id: id }) => id)).toEqual(expect.arrayContaining([...sessionIds]));
  await eventually(async () => {
    expect(await observer.views()).toEqual(folded);
    return true;
  });
}

/** Samples the checkpoints during the test, and returns those that went back. */
async function watchCheckpoints(): Promise<{ stop(): Promise<string[]> }> {
  const own = await ViewsObserver.connect(stack.postgresUrl);
  const wentBack: string[] = [];
  const last = new Map<string, readonly [tx: bigint, position: bigint]>();
  let on = true;
  let samples = 0;
  const sampling = (async () => {
    while (on) {
      const rows = await own.query<{ name: string; tx: string; position: string }>(
        'SELECT name, tx::text, position::text FROM angelia.checkpoints',
      );
      for (const { name, tx, position } of rows) {
        const now = [BigInt(tx), BigInt(position)] as const;
        const before = last.get(name);
        if (before && (now[0] < before[0] || (now[0] === before[0] && now[1] < before[1]))) {
          wentBack.push(`${name}: ${before.join('/')} -> ${now.join('/')}`);
        }
        last.set(name, now);
      }
      samples += 1;
      await pause(20);
    }
  })();
  return {
    stop: async () => {
      on = false;
      await sampling;
      await own.close();
      expect(samples).toBeGreaterThan(20);
      expect([...last.keys()].length).toBeGreaterThan(1);
      return wentBack;
    },
  };
}

export function leader(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return { routes: { led: testRoute(sink.url) } };
  });

  afterAll(() => sink?.stop());

  describe('the leader, under load', () => {
    beforeAll(async () => {
      observer = await ViewsObserver.connect(stack.postgresUrl);
    });
    afterEach(() => stack.thawAll());
    afterAll(() => observer?.close());

    it('killed (-9): another takes over, and the views miss nothing', async () => {
      const { instance, holders } = await theLeader();
      const working = load();
      await eventually(() => working.sessionIds.length > 20);
      stack.kill(instance);
      await takeover(holders);
      const afterwards = working.sessionIds.length;
      await eventually(() => working.sessionIds.length > afterwards + 50);
      await working.stop();
      await allIsRight(working.sessionIds);
    });

    it('frozen: another takes over; after it wakes up it changes nothing, and the views miss nothing', async () => {
      const { instance, holders } = await theLeader();
      const working = load();
      await eventually(() => working.sessionIds.length > 20);
      stack.freeze(instance);
      await takeover(holders);
      const afterwards = working.sessionIds.length;
      await eventually(() => working.sessionIds.length > afterwards + 50);
      const replaced = await leaders();
      expect(replaced.map(({ holder }) => instanceOf(holder))).not.toContain(instance);

      const checkpoints = await watchCheckpoints();
      stack.thaw(instance);
      // It notices, and goes on as a follower. The load continues under the new leader.
      const woken = working.sessionIds.length;
      await eventually(() => working.sessionIds.length > woken + 50);
      await working.stop();
      await allIsRight(working.sessionIds);

      // The new leaders led all the time, not the woken one, and no checkpoint ever went back.
      expect((await leaders()).map(({ name, holder, epoch }) => ({ name, holder, epoch }))).toEqual(
        replaced.map(({ name, holder, epoch }) => ({ name, holder, epoch })),
      );
      expect(await checkpoints.stop()).toEqual([]);
    });
  });
}

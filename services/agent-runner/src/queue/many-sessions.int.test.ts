import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { SessionId } from '@angelia/contracts';
import { eventually, type ModelServer, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runnerFixture } from '../testing/runner-fixture.ts';

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.stop();
  await world.stop();
});

const FLOOD = 400;
const QUIET = 100;
/** Slots of the runner. 500 sessions of 2 s then take 8 rounds or more: hundreds wait. */
const SLOTS = 64;
/** For 64 requests of runs in progress and the ids that wait. The model server keeps every request in the same heap. */
const MOST_BYTES = 40_000_000;

/** The memory that is reachable, without garbage. */
function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

describe('500 sessions at once, with a model that takes 2 s', () => {
  it('are all answered once; a flood on one route leaves the other its share; and memory does not grow', async () => {
    // As in production: half a second without a renewal on a busy machine does not lose a lease.
    world = await runnerFixture({
      modelUrl: server.baseUrl,
      agent: { max_concurrency: SLOTS },
      leaseSeconds: 20,
    });
    server.behave((request) => say(`re: ${request.input}`, 2_000));
    const create = (count: number, route: string) =>
      Promise.all(
        Array.from({ length: count }, (_, n) => world.create(`${route} ${n}`, 'default', [], { route })),
      );
    const flood = await create(FLOOD, 'flood');
    const quiet = await create(QUIET, 'quiet');
    const all = [...flood, ...quiet];
    // The queue view, for the sessions that do not fit in the list.
    const asked = new Set<string>();
    const left = (ids: readonly SessionId[], route: string) =>
      ids.filter((_, n) => !asked.has(`${route} ${n}`));
    const queued = () => {
      for (const { input } of server.requests) asked.add(input);
      const [a, b] = [left(flood, 'flood'), left(quiet, 'quiet')];
      return a.flatMap((id, n) => [id, ...(b[n] === undefined ? [] : [b[n]])]).slice(0, 64);
    };
    const runner = world.runner('a', { queued });
    const before = heapInUse();

    // The flood first: the sessions of the other route find every slot taken and hundreds before them.
    for (const id of flood) await runner.checkSession(id);
    await Promise.all(quiet.map((id) => runner.checkSession(id)));
    // On a busy machine more than the first round of the flood has started by now.
    const started = server.requests.length;
    await eventually(() => server.requests.length > (FLOOD + QUIET) / 2);
    const during = heapInUse();
    await eventually(
      async () => {
        const states = await Promise.all(all.map((id) => world.log.streams.readHead(id)));
        return states.every((head) => head?.type === 'session.ended');
      },
      { everyMs: 500, describe: 'all sessions end' },
    );

    const inputs = server.requests.map(({ input }) => input);
    expect(inputs).toHaveLength(FLOOD + QUIET);
    expect(new Set(inputs).size).toBe(FLOOD + QUIET);
    expect(server.mostInFlight()).toBeLessThanOrEqual(SLOTS);
    expect(server.mostInFlight()).toBeGreaterThan(SLOTS / 2);
    // From then on its share is half of the slots: its hundred are done when about as many more of the flood are.
    const lastQuiet = inputs.findLastIndex((input) => input.startsWith('quiet'));
    expect(lastQuiet).toBeLessThan(started + 2 * QUIET + SLOTS);
    expect(Math.max(during, heapInUse()) - before).toBeLessThan(MOST_BYTES);
    const [some] = quiet;
    const events = some === undefined ? [] : await world.events(some);
    expect(events.find(({ type }) => type === 'session.final-response')?.data).toMatchObject({
      text: 're: quiet 0',
    });
    expect(runner.size).toBe(0);
  });
});

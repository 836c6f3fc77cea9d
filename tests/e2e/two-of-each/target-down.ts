import { answer, eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';

// A target that is down delays no other target, and when it is back everything arrives: with real hints, timers and two
// replicas of delivery.

const SESSIONS = 300;
/** Longer than the first three retries. */
const DOWN_MS = 6_000;

let up: Sink;
let down: Sink;

export function targetDown(): void {
  addToStack(async () => {
    up = await startSink({ secret: TEST_SINK_SECRET });
    down = await startSink({ secret: TEST_SINK_SECRET });
    // Not by closing its port, which another test's server could get meanwhile.
    down.behave(answer(503));
    return { routes: { up: testRoute(up.url), down: testRoute(`${down.url}/hook`) } };
  });

  afterAll(async () => {
    await Promise.all([up?.stop(), down?.stop()]);
  });

  describe('a target that is down while 300 sessions wait for it', () => {
    it('delays no other target, gets few requests, and gets each answer once when it is back', async () => {
      const begun = performance.now();
      const waiting = await Promise.all(
        Array.from({ length: SESSIONS }, (_, n) =>
          stack.post({ route: 'down', body: { text: `waiting ${n}` } }),
        ),
      );
      for (const { sessionId } of waiting) await stack.waitForEnd(sessionId);

      // At least some even on a slow machine. None of them waits for the target that is down.
      for (let n = 0; n < 3 || performance.now() - begun < DOWN_MS; n += 1) {
        const { sessionId } = await stack.post({ route: 'up', body: { text: 'elsewhere' } });
        await eventually(() => up.answersOf(sessionId).length === 1);
      }
      const attempts = await Promise.all(
        waiting.map(async ({ sessionId }) =>
          (await stack.events(sessionId)).filter(({ type }) => type === 'delivery.attempted'),
        ),
      );
      // Each replica finds out by itself: after five failures, plus those in flight by then (64 at most).
      expect(attempts.flat().length).toBeLessThan(SESSIONS);
      expect(attempts.filter((made) => made.length === 0).length).toBeGreaterThan(SESSIONS / 3);

      down.behave(answer(200));
      for (const { sessionId } of waiting) {
        const { deliveries } = await stack.waitForEnd(sessionId, { settled: true });
        expect(deliveries).toMatchObject({ pending: 0, delivered: 1, dead: 0 });
      }
      const counts = waiting.map(({ sessionId }) => down.answersOf(sessionId).length);
      expect(counts.filter((count) => count !== 1)).toEqual([]);
    });
  });
}

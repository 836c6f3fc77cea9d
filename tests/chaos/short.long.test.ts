import { describe, expect, it } from '@jest/globals';
import { isClean, reportOf } from './report.ts';
import { runChaos } from './run.ts';

// The short version of `npm run chaos`: some of everything, the same every time.

/** One that has, in so short a time, a death of each service, of Postgres and of all at once, a frozen runner, and the loss of the bus. */
const SEED = 48;
/** Load and faults; with start, settling and judging about a minute. */
const LASTS_MS = 32_000;
const TEST_MS = 480_000;

describe('while services, Postgres, NATS and the network between them fail', () => {
  it(
    'nothing that was accepted is lost, nothing is done or said twice, and everything ends',
    async () => {
      const said: string[] = [];
      const result = await runChaos({
        seed: SEED,
        lastsMs: LASTS_MS,
        perSecond: 4,
        everyMs: { least: 600, most: 1_800 },
        longestMs: 5_000,
        settleMs: 90_000,
        say: (line) => void said.push(line),
      });
      if (!isClean(result)) throw new Error([reportOf(SEED, result), ...said].join('\n'));
      // It was a load, and it was hit.
      expect(result.figures.accepted).toBeGreaterThan(50);
      expect(result.history.faults.length).toBeGreaterThan(10);
    },
    TEST_MS,
  );
});

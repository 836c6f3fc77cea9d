import { describe, expect, it } from '@jest/globals';
import { isClean, reportOf } from './report.ts';
import { runChaos } from './run.ts';

// The short version of `npm run chaos`: some of everything, and the same every time.

/** A seed with a kill of each service, of Postgres and of everything, a frozen runner and the loss of the bus in this short time. */
const SEED = 48;
/** The time of load and faults. With start, settling and judging it takes about a minute. */
const LASTS_MS = 32_000;
const TEST_MS = 480_000;

describe('while services, Postgres, NATS and the network between them fail', () => {
  it(
    'nothing accepted is lost, nothing is done or sent twice, and everything ends',
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
      // There was load, and there were faults.
      expect(result.figures.accepted).toBeGreaterThan(50);
      expect(result.history.faults.length).toBeGreaterThan(10);
    },
    TEST_MS,
  );
});

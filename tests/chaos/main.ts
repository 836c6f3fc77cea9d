// `npm run chaos`: the long fault tests. Exits 1 when an invariant was violated.
//   npm run chaos -- --seed 7            the same faults as the last run with that seed
//   npm run chaos -- --minutes 60
//   npm run chaos -- --quick             a minute and a half

import { parseArgs } from 'node:util';
import { isClean, reportOf } from './report.ts';
import { runChaos } from './run.ts';

const { seed, minutes, quick } = wished();

const stop = new AbortController();
// Ctrl-C comes from the terminal and from our parent.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

const say = (line: string) => process.stderr.write(`chaos: ${line}\n`);
say(`seed ${seed}, ${minutes} minutes`);
const result = await runChaos({
  seed,
  lastsMs: minutes * 60_000,
  perSecond: 5,
  everyMs: quick ? { least: 600, most: 2_400 } : { least: 1_500, most: 6_000 },
  longestMs: 8_000,
  settleMs: 120_000,
  say,
  signal: stop.signal,
});
process.stdout.write(`${reportOf(seed, result)}\n`);
process.exit(isClean(result) ? 0 : 1);

function wished(): { seed: number; minutes: number; quick: boolean } {
  try {
    const { values } = parseArgs({
      options: { seed: { type: 'string' }, minutes: { type: 'string' }, quick: { type: 'boolean' } },
    });
    const quick = values.quick ?? false;
    return {
      seed: numberOf('seed', values.seed, Math.floor(Math.random() * 1_000_000)),
      minutes: numberOf('minutes', values.minutes, quick ? 1.5 : 15),
      quick,
    };
  } catch (error) {
    process.stderr.write(`angelia: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

function numberOf(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (value >= 0 && value < 2 ** 31) return value;
  throw new Error(`--${name} is "${text}": give a number`);
}

// The order of the test files: whole systems and tests with Postgres and NATS by turns, then the rest, so that small files
// fill the workers at the end of a run. Whole systems use the CPU most of their time, and the others wait most of theirs:
// one after the other, the cores would first be short and then idle. Within a tier the slowest of the last run come first,
// else the largest. Jest's own order is by size: it would run a small file that shares its stack
// (tests/e2e/shared-stack.ts) and takes a minute last.

import { readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const TIERS = ['long', 'e2e', 'int', 'unit'];

export default class BusyAndWaitingByTurns {
  sort(tests) {
    const [first] = tests;
    const seconds = first ? lastTimes(first.context.config.rootDir) : () => undefined;
    const order = (path) => ({
      tier: TIERS.findIndex((tier) => path.endsWith(`.${tier}.test.ts`)),
      seconds: seconds(path) ?? Number.POSITIVE_INFINITY,
      size: statSync(path).size,
    });
    const known = new Map(tests.map((test) => [test, order(test.path)]));
    const slowestFirst = [...tests].sort((one, other) => {
      const [a, b] = [known.get(one), known.get(other)];
      return a.seconds === b.seconds ? b.size - a.size : b.seconds - a.seconds;
    });
    const tiers = TIERS.map((_, at) => slowestFirst.filter((test) => known.get(test).tier === at));
    const [long, e2e, int, unit] = tiers;
    const secondsOf = (test) => Math.min(known.get(test).seconds, UNKNOWN_SECONDS);
    return [...long, ...byTurns(e2e, int, secondsOf), ...unit];
  }

  shard(tests, { shardIndex, shardCount }) {
    return tests.filter((_, at) => at % shardCount === shardIndex - 1);
  }

  /** For `--onlyFailures`. It remembers nothing. */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}

/** Of a file that has not run on this machine. */
const UNKNOWN_SECONDS = 10;

/** Merges two lists, so that both have run the same share of their time at any moment, and end together. */
function byTurns(ones, others, secondsOf) {
  const total = (list) => list.reduce((sum, test) => sum + secondsOf(test), 0);
  const [allOnes, allOthers] = [total(ones), total(others)];
  const merged = [];
  let [at, otherAt, ran, otherRan] = [0, 0, 0, 0];
  while (at < ones.length || otherAt < others.length) {
    const takeOne = otherAt === others.length || (at < ones.length && ran * allOthers <= otherRan * allOnes);
    const test = takeOne ? ones[at++] : others[otherAt++];
    if (takeOne) ran += secondsOf(test);
    else otherRan += secondsOf(test);
    merged.push(test);
  }
  return merged;
}

/** The times that times.mjs wrote. */
function lastTimes(root) {
  try {
    const { files } = JSON.parse(readFileSync(join(root, '.cache', 'test-times.json'), 'utf8'));
    const seconds = new Map(files.map((one) => [one.file, one.seconds]));
    return (path) => seconds.get(relative(root, path));
  } catch {
    return () => undefined; // the first run on this machine
  }
}

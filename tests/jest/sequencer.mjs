// The order of the test files: whole systems first, then tests with Postgres and NATS, then the rest, so that small files fill
// the workers at the end of a run. Within a tier the slowest of the last run come first, else the largest. Jest's own order
// is by size: it would run a small file that shares its stack (tests/e2e/shared-stack.ts) and takes a minute last.

import { readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

const TIERS = ['long', 'e2e', 'int', 'unit'];

export default class WholeSystemsFirst {
  sort(tests) {
    const [first] = tests;
    const seconds = first ? lastTimes(first.context.config.rootDir) : () => undefined;
    const order = (path) => ({
      tier: TIERS.findIndex((tier) => path.endsWith(`.${tier}.test.ts`)),
      seconds: seconds(path) ?? Number.POSITIVE_INFINITY,
      size: statSync(path).size,
    });
    const known = new Map(tests.map((test) => [test, order(test.path)]));
    return [...tests].sort((one, other) => {
      const [a, b] = [known.get(one), known.get(other)];
      if (a.tier !== b.tier) return a.tier - b.tier;
      return a.seconds === b.seconds ? b.size - a.size : b.seconds - a.seconds;
    });
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

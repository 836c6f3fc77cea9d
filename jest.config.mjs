// Four tiers, told apart by the file name: `unit` is pure and needs nothing; `int` has a real Postgres and a real
// NATS, started once for the run (tests/jest/setup.mjs); `e2e` runs whole stacks. `npm test` runs these three;
// it builds first, as e2e tests start the built services. `long` needs minutes by nature (`npm run test:long`).

import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findKubectl } from '@angelia/local';

const rootDir = dirname(fileURLToPath(import.meta.url));

const kubectl = await findKubectl();
if (kubectl !== null) process.env.ANGELIA_TEST_KUBECTL = kubectl;
else
  process.stderr.write('angelia: no kubectl 1.21 or newer here: the Kubernetes manifests are not checked\n');

// For the workers and for some 200 programs that tests start from their sources: a third to a half of the CPU of such a start.
process.env.NODE_COMPILE_CACHE ??= join(rootDir, '.cache', 'node-compile');

const common = {
  rootDir,
  cacheDirectory: `${rootDir}/.cache/jest`,
  roots: ['libs', 'services', 'deploy/local', 'tests'].map((dir) => `${rootDir}/${dir}`),
  modulePathIgnorePatterns: ['/dist/', '/\\.cache/'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironment: `${rootDir}/tests/jest/environment.mjs`,
  runtime: `${rootDir}/tests/jest/runtime.mjs`,
  transform: {},
};

const withPostgresAndNats = {
  globalSetup: `${rootDir}/tests/jest/setup.mjs`,
  globalTeardown: `${rootDir}/tests/jest/teardown.mjs`,
};

export default {
  // Eight on two cores: a test spends more than half of its time waiting for a lease, a retry or a program that starts.
  // Tests wait for conditions, so a starved one takes longer and does not fail. No more than eight: they share one Postgres.
  maxWorkers: Math.min(8, 4 * availableParallelism()),
  // For a worker to end by itself; 0.5 s, jest's own, is too short on a busy machine, and its warning sounds like a leak.
  workerGracefulExitTimeout: 10_000,
  // Generous: a slow machine must not make a test fail. Tests wait for conditions and end long before this.
  testTimeout: 240_000,
  testSequencer: `${rootDir}/tests/jest/sequencer.mjs`,
  reporters: ['default', `${rootDir}/tests/jest/times.mjs`],
  projects: [
    { ...common, displayName: 'unit', testMatch: ['**/*.unit.test.ts'] },
    {
      ...common,
      ...withPostgresAndNats,
      displayName: 'int',
      testMatch: ['**/*.int.test.ts'],
      testPathIgnorePatterns: [...common.testPathIgnorePatterns, ...(kubectl ? [] : ['/tests/kubernetes/'])],
    },
    { ...common, ...withPostgresAndNats, displayName: 'e2e', testMatch: ['**/*.e2e.test.ts'] },
    { ...common, ...withPostgresAndNats, displayName: 'long', testMatch: ['**/*.long.test.ts'] },
  ],
};

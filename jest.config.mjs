// Four tiers, told apart by the file name: `unit` is pure and needs nothing; `int` has a real Postgres and a real
// NATS, started once for the run (deploy/local/jest/setup.mjs); `e2e` runs whole stacks. `npm test` runs these three;
// it builds first, as e2e tests start the built services. `long` needs minutes by nature (`npm run test:long`).

import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const rootDir = dirname(fileURLToPath(import.meta.url));

const common = {
  rootDir,
  roots: ['libs', 'services', 'deploy/local', 'tests'].map((dir) => `${rootDir}/${dir}`),
  modulePathIgnorePatterns: ['/dist/', '/\\.cache/'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironment: 'node',
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        configFile: false,
        sourceMaps: 'inline',
        module: { type: 'es6' },
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true },
          keepClassNames: true,
          experimental: { keepImportAttributes: true },
        },
      },
    ],
  },
};

const withPostgresAndNats = {
  globalSetup: `${rootDir}/deploy/local/jest/setup.mjs`,
  globalTeardown: `${rootDir}/deploy/local/jest/teardown.mjs`,
};

export default {
  // Two at most: int tests share one Postgres, each e2e test is a whole stack, and the machine may have two cores for all
  // of it. Three are quicker by a fifth (10 min), and starve a stack whose bounds are seconds now and then.
  maxWorkers: Math.min(2, availableParallelism()),
  // Generous: a slow machine must not make a test fail. Tests wait for conditions and end long before this.
  testTimeout: 60_000,
  reporters: ['default', `${rootDir}/deploy/local/jest/times.mjs`],
  projects: [
    { ...common, displayName: 'unit', testMatch: ['**/*.unit.test.ts'] },
    { ...common, ...withPostgresAndNats, displayName: 'int', testMatch: ['**/*.int.test.ts'] },
    { ...common, ...withPostgresAndNats, displayName: 'e2e', testMatch: ['**/*.e2e.test.ts'] },
    { ...common, ...withPostgresAndNats, displayName: 'long', testMatch: ['**/*.long.test.ts'] },
  ],
};

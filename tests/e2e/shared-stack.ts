import {
  type ModelServer,
  type Sink,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestConfigParts,
  type TestStack,
  type TestStackOptions,
  testConfig,
} from '@angelia/testkit';
import { afterAll, beforeAll } from '@jest/globals';

// One stack for all subjects that a test file imports: a stack costs as much CPU as dozens of tests. A subject says what it
// needs in the config, under names of its own, and has sinks and models of its own. It may kill services, and leaves the
// stack as it found it.

type Part = Pick<TestConfigParts, 'models' | 'agents' | 'targets' | 'routes' | 'extra'> &
  Pick<TestStackOptions, 'env'>;

const parts: (() => Promise<Part>)[] = [];

/** The running one, from `beforeAll` on. */
export let stack: TestStack;

/** For a subject, when its module is loaded: `make` starts what the subject needs and says what to add to the config. */
export function addToStack(make: () => Promise<Part>): void {
  parts.push(make);
}

/** For the test file. */
export function shareStack(
  options: Omit<TestStackOptions, 'config'> & Pick<TestConfigParts, 'timing' | 'delivery'> = {},
): void {
  const { timing, delivery, ...rest } = options;
  let unused: Sink;

  beforeAll(async () => {
    unused = await startSink({ secret: TEST_SINK_SECRET });
    const all = await Promise.all(parts.map((make) => make()));
    const config = testConfig({
      sinkUrl: unused.url,
      models: merged(all.map((part) => part.models)),
      agents: merged(all.map((part) => part.agents)),
      targets: merged(all.map((part) => part.targets)),
      routes: merged(all.map((part) => part.routes)),
      extra: merged(all.map((part) => part.extra)),
      ...(timing === undefined ? {} : { timing }),
      ...(delivery === undefined ? {} : { delivery }),
    });
    stack = await startTestStack({
      ...rest,
      env: { ...rest.env, ...merged(all.map((part) => part.env)) },
      config,
    });
  });

  afterAll(async () => {
    await stack?.stop();
    await unused?.stop();
  });
}

function merged<T>(sections: readonly (Readonly<Record<string, T>> | undefined)[]): Record<string, T> {
  const entries = sections.flatMap((section) => Object.entries(section ?? {}));
  const names = entries.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two subjects of this stack use the name "${twice}"`);
  return Object.fromEntries(entries);
}

/** A model of the config that is this server. */
export const modelAt = ({ baseUrl }: ModelServer) => ({
  provider: 'openai-compatible',
  base_url: baseUrl,
  model: 'm1',
  api_key: 'test-key',
});

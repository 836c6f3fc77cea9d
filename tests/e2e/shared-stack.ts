import {
  type ModelServer,
  type OtlpReceiver,
  type Sink,
  startOtlpReceiver,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestConfigParts,
  type TestStack,
  type TestStackOptions,
  testConfig,
} from '@angelia/testkit';
import { afterAll, beforeAll } from '@jest/globals';

// One stack for all subjects that a test file imports, because a stack costs as much CPU as dozens of tests. A subject adds
// its own names to the config, and has its own sinks and models. It may kill services, but leaves the stack as it found it.

type Part = Pick<TestConfigParts, 'models' | 'agents' | 'targets' | 'routes' | 'extra'> &
  Pick<TestStackOptions, 'env'> & { readonly chats?: Record<string, unknown> };

/** As in production: on a starved machine a run would lose a short lease and be rightly done again. */
const LEASE_SECONDS = 20;

/** The subjects of the file that is being loaded. A worker loads this module once for all files. */
let parts: (() => Promise<Part>)[] = [];

/** The running stack, from `beforeAll` on. */
export let stack: TestStack;

/** What the services send over OTLP, on a stack with `traces`. */
export let receiver: OtlpReceiver;

/** For a subject: `make` starts what the subject needs and returns what to add to the config. */
export function addToStack(make: () => Promise<Part>): void {
  parts.push(make);
}

/** For the test file. A subject is a function that calls `addToStack` and describes its tests. */
export function shareStack(
  options: Omit<TestStackOptions, 'config'> &
    Pick<TestConfigParts, 'timing' | 'delivery'> & { readonly traces?: boolean },
  subjects: readonly (() => void)[],
): void {
  const { timing, delivery, traces, ...rest } = options;
  const own: typeof parts = [];
  parts = own;
  let unused: Sink;

  beforeAll(async () => {
    unused = await startSink({ secret: TEST_SINK_SECRET });
    if (traces) receiver = await startOtlpReceiver();
    const otlp: Record<string, string> = traces
      ? {
          OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
          OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
          OTEL_BSP_SCHEDULE_DELAY: '200',
        }
      : {};
    const all = await Promise.all(own.map((make) => make()));
    const extra = merged(all.map((part) => part.extra));
    const chats = merged([
      extra.chats as Record<string, unknown> | undefined,
      ...all.map((part) => part.chats),
    ]);
    const config = testConfig({
      sinkUrl: unused.url,
      models: merged(all.map((part) => part.models)),
      agents: merged(all.map((part) => part.agents)),
      targets: merged(all.map((part) => part.targets)),
      routes: merged(all.map((part) => part.routes)),
      extra: { ...extra, ...(Object.keys(chats).length === 0 ? {} : { chats }) },
      timing: { lease_seconds: LEASE_SECONDS, ...timing },
      ...(delivery === undefined ? {} : { delivery }),
    });
    stack = await startTestStack({
      ...rest,
      env: { ...otlp, ...rest.env, ...merged(all.map((part) => part.env)) },
      config,
    });
  });

  afterAll(async () => {
    await stack?.stop();
    await Promise.all([unused?.stop(), ...(traces ? [receiver?.stop()] : [])]);
  });

  for (const subject of subjects) subject();
}

function merged<T>(sections: readonly (Readonly<Record<string, T>> | undefined)[]): Record<string, T> {
  const entries = sections.flatMap((section) => Object.entries(section ?? {}));
  const names = entries.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two subjects of this stack use the name "${twice}"`);
  return Object.fromEntries(entries);
}

/** A model for the config that uses this server. */
export const modelAt = ({ baseUrl }: ModelServer) => ({
  provider: 'openai-compatible',
  base_url: baseUrl,
  model: 'm1',
  api_key: 'test-key',
});

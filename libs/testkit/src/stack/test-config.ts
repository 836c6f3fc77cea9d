import { stringify } from 'yaml';

export const TEST_SECRET = 'test-webhook-secret';
/** base64 after `whsec_`, as Standard Webhooks requires. */
export const TEST_SINK_SECRET = `whsec_${Buffer.from('a sink secret of 24 bytes').toString('base64')}`;

/** Short, so that tests of takeover and failover are fast. The ratios are those of production. */
export const SHORT_TIMING = { lease_seconds: 3, sweep_seconds: 2, lead_seconds: 2 };

/** Tests use the pids that commands print. A pid from inside a namespace means nothing outside. */
const WITHOUT_ROOT = process.getuid?.() === 0 ? {} : { run_as: 'same' };

type Section = Record<string, unknown>;

export interface TestConfigParts {
  /** URL of a sink. Every route delivers there unless it says otherwise. */
  readonly sinkUrl: string;
  /** URL of a model server. Defines the model `main` (openai-compatible), which the default agent uses. */
  readonly modelUrl?: string;
  /** Merged over the default agent. */
  readonly agent?: Section;
  /** Added to the generated sections, or replace their entries. */
  readonly models?: Section;
  readonly agents?: Section;
  readonly targets?: Section;
  readonly routes?: Record<string, Section>;
  readonly timing?: Partial<typeof SHORT_TIMING>;
  readonly delivery?: Section;
  /** Any other top-level key. */
  readonly extra?: Section;
}

/** YAML text of a small config: route `hook` takes `{"text": ...}`, gives it to the agent and delivers to the sink. */
export function testConfig(parts: TestConfigParts): string {
  const main =
    parts.modelUrl === undefined
      ? {}
      : {
          main: { provider: 'openai-compatible', base_url: parts.modelUrl, model: 'm1', api_key: 'test-key' },
        };
  return stringify({
    secret: TEST_SECRET,
    limits: { rate_limit: 0 },
    models: { demo: { provider: 'builtin', model: 'echo' }, ...main, ...parts.models },
    agents: {
      default: { kind: 'llm', model: parts.modelUrl === undefined ? 'demo' : 'main', ...parts.agent },
      ...parts.agents,
    },
    targets: { http: { secret: TEST_SINK_SECRET, allow_private_networks: true }, ...parts.targets },
    delivery: { retry_schedule_seconds: [0.2, 0.5, 1, 2, 5], ...parts.delivery },
    timing: { ...SHORT_TIMING, ...parts.timing },
    routes: { hook: testRoute(parts.sinkUrl), ...parts.routes },
    ...parts.extra,
    process_watcher: { ...WITHOUT_ROOT, ...(parts.extra?.process_watcher as Section | undefined) },
  });
}

export function testRoute(sinkUrl: string, over: Section = {}): Section {
  return { prompt: '{text}', agent: 'default', deliver: 'http', deliver_extra: { url: sinkUrl }, ...over };
}

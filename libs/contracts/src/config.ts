import { z } from 'zod';

/**
 * The config file (INTERFACES.md, "Config file"). Every object is strict: an unknown key is an error that names
 * the key and its place. Defaults are written here once, so that the JSON Schema for editors shows them too.
 */

const name = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'a name is lower-case letters, digits, - and _');
const seconds = z.number().nonnegative();
const positiveSeconds = z.number().positive();
const positiveInt = z.number().int().positive();
const httpUrl = z.url({ protocol: /^https?$/, error: 'an http or https URL is wanted' });

const modelBase = {
  model: z.string().min(1),
  base_url: httpUrl.optional(),
  api_key: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** A whole call. */
  timeout_seconds: positiveSeconds.default(600),
  /** No token for this long: the model has stalled. */
  stall_seconds: positiveSeconds.default(90),
};
const model = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('openai-compatible'), ...modelBase, base_url: httpUrl }),
  z.strictObject({ provider: z.literal('openai'), ...modelBase }),
  z.strictObject({ provider: z.literal('anthropic'), ...modelBase }),
  z.strictObject({ provider: z.literal('builtin'), model: z.literal('echo') }),
]);

const resume = z.strictObject({
  freshness_seconds: positiveSeconds.default(3600),
  max_attempts: positiveInt.default(3),
  max_interruption_seconds: positiveSeconds.default(86_400),
});

const agent = z.strictObject({
  kind: z.enum(['llm', 'command', 'http']).default('llm'),
  model: name.optional(),
  fallback_models: z.array(name).default([]),
  system: z
    .string()
    .default('You are a helpful agent. Finish the task you are given and answer with the result.'),
  toolsets: z.array(z.string()).default([]),
  max_steps: positiveInt.default(40),
  timeout_seconds: positiveSeconds.default(1800),
  budget: z.strictObject({ max_tokens: positiveInt.default(200_000) }).prefault({}),
  resume: resume.prefault({}),
  clarify: z
    .strictObject({
      timeout_seconds: positiveSeconds.default(3600),
      on_timeout: z.enum(['end', 'continue']).default('end'),
    })
    .prefault({}),
  processes: z
    .strictObject({
      max_wait_seconds: positiveSeconds.default(86_400),
      max_per_session: positiveInt.default(16),
    })
    .prefault({}),
  max_concurrency: positiveInt.default(64),
  status_interval_seconds: seconds.default(180),
});

/** Keys of the target adapters differ; each adapter checks its own part (unknown keys included) at start. */
const targetConfig = z.record(z.string(), z.unknown());

const filter = z.record(z.string(), z.unknown());

/** Hermes route keys that we do not have: refused by name, with what to do instead. */
export const refusedHermesKeys: Readonly<Record<string, string>> = {
  cron_job: 'Angelia has no scheduler: let cron or a Kubernetes CronJob POST to the route',
  profile: "name an agent under `agents` and set the route's `agent`",
  mirror_to_session: 'set `session_key`, so that further webhooks go to the same session',
};

const route = z.strictObject({
  enabled: z.boolean().default(true),
  secret: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  auth: z.string().optional(),
  events: z.array(z.string()).default([]),
  filters: z.array(filter).default([]),
  script: z.string().optional(),
  retry_on_script_failure: z.boolean().optional(),
  prompt: z.string().default('{__raw__}'),
  title: z.string().optional(),
  skills: z.array(z.string()).default([]),
  toolsets: z.array(z.string()).optional(),
  agent: name.default('default'),
  deliver: z.string().min(1).default('log'),
  deliver_extra: z.record(z.string(), z.unknown()).default({}),
  fallback_target: z
    .strictObject({
      deliver: z.string().min(1),
      deliver_extra: z.record(z.string(), z.unknown()).default({}),
    })
    .optional(),
  deliver_only: z.boolean().default(false),
  interim: z.enum(['message', 'edit', 'off']).default('message'),
  delivery_id: z.string().optional(),
  dedupe_window_seconds: positiveSeconds.default(600),
  coalesce: z
    .strictObject({
      key: z.string().min(1),
      window_seconds: positiveSeconds.default(30),
      max_wait_seconds: positiveSeconds.default(300),
    })
    .optional(),
  session_key: z.string().min(1).optional(),
  on_busy: z.enum(['enqueue', 'coalesce', 'interrupt', 'reject']).optional(),
  max_queue_seconds: positiveSeconds.optional(),
  rate_limit: z.number().int().nonnegative().optional(),
  max_concurrency: positiveInt.optional(),
});

export const configSchema = z
  .strictObject({
    secret: z.string().min(1).optional(),
    limits: z
      .strictObject({
        max_body_bytes: positiveInt.default(1_048_576),
        rate_limit: z.number().int().nonnegative().default(30),
      })
      .prefault({}),
    models: z.record(name, model).default({}),
    agents: z.record(name, agent).default({}),
    mcp_servers: z.record(name, z.record(z.string(), z.unknown())).default({}),
    targets: z.record(z.string(), targetConfig).default({}),
    delivery: z
      .strictObject({
        retry_schedule_seconds: z.array(positiveSeconds).default([5, 30, 120, 600, 3600]),
        max_age_seconds: positiveSeconds.default(86_400),
        /** One request to a target; the claim's deadline is longer than this. */
        request_timeout_seconds: positiveSeconds.default(30),
      })
      .prefault({}),
    retention: z
      .strictObject({
        sessions_days: z.number().positive().default(90),
        delivery_ids_days: z.number().min(7, 'delivery ids are kept for at least 7 days').default(7),
      })
      .prefault({}),
    directories: z
      .strictObject({
        scripts: z.string().default('./scripts'),
        skills: z.string().default('./skills'),
        exports: z.string().default('./exports'),
      })
      .prefault({}),
    api_routes: z.strictObject({ allowed_toolsets: z.array(z.string()).default(['clarify']) }).prefault({}),
    timing: z
      .strictObject({
        lease_seconds: positiveSeconds.default(20),
        sweep_seconds: positiveSeconds.default(10),
        lead_seconds: positiveSeconds.default(5),
      })
      .prefault({}),
    nats: z.strictObject({ replicas: z.number().int().min(1).max(5).default(1) }).prefault({}),
    routes: z.record(name, route).default({}),
  })
  .meta({ title: 'Angelia config' });

export type Config = z.infer<typeof configSchema>;
export type RouteConfig = Config['routes'][string];
export type AgentConfig = Config['agents'][string];
export type ModelConfig = Config['models'][string];

/** What an operator reads: the place as it stands in the file, and the reason. */
export interface ConfigProblem {
  readonly place: string;
  readonly reason: string;
}

export function parseConfig(
  raw: unknown,
):
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: ConfigProblem[] } {
  const parsed = configSchema.safeParse(raw ?? {});
  if (parsed.success) return { ok: true, config: parsed.data };
  return { ok: false, problems: parsed.error.issues.flatMap(describeIssue) };
}

function describeIssue(issue: z.core.$ZodIssue): ConfigProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      place: [...path, key].join('.'),
      reason:
        path[0] === 'routes' && refusedHermesKeys[key] ? refusedHermesKeys[key] : `unknown key \`${key}\``,
    }));
  }
  return [{ place: path.join('.') || '(top)', reason: issue.message }];
}

/** For editors: `# yaml-language-server: $schema=...`. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: 'input' });
}

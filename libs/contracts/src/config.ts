import { z } from 'zod';
import { type ConfigProblem, notA, validate } from './validate.ts';

/**
 * The config file (INTERFACES.md, "Config file"). Every object is strict: an unknown key is an error that names
 * the key and its place. Defaults are written here once, so that the JSON Schema for editors shows them too.
 */

const name = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    'a name has 1 to 63 lower-case letters, digits, - and _, and starts with a letter or a digit.',
  );
const seconds = z.number().nonnegative();
const positiveSeconds = z.number().positive();
const positiveInt = z.number().int().positive();
const count = z.number().int().nonnegative();
const httpUrl = z
  .url({
    protocol: /^https?$/,
    error: notA('an http or https URL', 'Write one such as https://example.com.'),
    abort: true,
  })
  // URLs are not secret: logs and spans show them. And no HTTP client would send a user and password from here.
  .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), {
    error:
      'this URL has a user or a password. Remove them, and put credentials under `headers` where that key exists.',
    abort: true,
  });
/** Of an API, whose paths are put behind it. */
const baseUrl = httpUrl.refine((url) => !/[?#]/.test(url), {
  error: 'a base_url ends with its path. Remove what begins with ? or #.',
});

/** `10.0.0.7`, `10.0.0.0/8`, `fd00::/8` */
const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: notA('an IP address or a network', 'Write one such as 10.0.0.7 or 10.0.0.0/8.'),
});

const modelBase = {
  model: z.string().min(1),
  base_url: baseUrl.optional(),
  api_key: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** A whole call. */
  timeout_seconds: positiveSeconds.default(600),
  /** No token for this long: the model has stalled. */
  stall_seconds: positiveSeconds.default(90),
  /** The model's window. Near it, older steps are replaced by a summary. */
  context_tokens: positiveInt
    .min(1000, 'the window is too small for a conversation. Use at least 1000 tokens.')
    .default(128_000),
  /** The longest answer; without it what the provider has as its default. */
  max_output_tokens: positiveInt.optional(),
  /** False: for a server that cannot stream. A stalled model is then noticed by `timeout_seconds` only. */
  streaming: z.boolean().default(true),
};
/** Their own servers take nobody without a key; what stands at a base_url may. */
const withKey = (model: { base_url?: string | undefined; api_key?: string | undefined }) =>
  model.api_key !== undefined || model.base_url !== undefined;
const keyMissing = {
  error: 'the value is missing. Set `api_key`, or the `base_url` of a server that needs none.',
  path: ['api_key'],
};
const model = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('openai-compatible'), ...modelBase, base_url: baseUrl }),
  z.strictObject({ provider: z.literal('openai'), ...modelBase }).refine(withKey, keyMissing),
  z.strictObject({ provider: z.literal('anthropic'), ...modelBase }).refine(withKey, keyMissing),
  z.strictObject({ provider: z.literal('builtin'), model: z.literal('echo') }),
]);

const resume = z.strictObject({
  freshness_seconds: positiveSeconds.default(3600),
  max_attempts: positiveInt.default(3),
  max_interruption_seconds: positiveSeconds.default(86_400),
});

/** What every kind of agent has. */
const agentBase = {
  /** The whole run. */
  timeout_seconds: positiveSeconds.default(1800),
  resume: resume.prefault({}),
  max_concurrency: positiveInt.default(64),
  status_interval_seconds: seconds.default(180),
};

/** A model and its tools, step by step. */
const llmAgent = z.strictObject({
  // Optional, so that it is found by a file that names no kind; the default then fills it in.
  kind: z.literal('llm').optional().default('llm'),
  model: name.optional(),
  fallback_models: z.array(name).default([]),
  system: z
    .string()
    .default('You are a helpful agent. Finish the task you are given and answer with the result.'),
  toolsets: z.array(z.string()).default([]),
  max_steps: positiveInt.default(40),
  budget: z.strictObject({ max_tokens: positiveInt.default(200_000) }).prefault({}),
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
  ...agentBase,
});

/** A program: the prompt on its stdin, its stdout is the answer, its exit code decides. */
const commandAgent = z.strictObject({
  kind: z.literal('command'),
  /** The program and its arguments; no shell in between. */
  command: z
    .array(z.string(), {
      error: notA('a list', 'Write the program and its arguments, such as [run, --fast].'),
    })
    .min(1, 'the list is empty. Write the program and its arguments, such as [run, --fast].'),
  /** Where it runs; without it a directory of the session's own. */
  cwd: z.string().min(1).optional(),
  /** Beside a small clean environment: nothing else of ours is handed over. */
  env: z.record(z.string(), z.string()).default({}),
  /** A line of its output that begins so is an interim status, and no part of the answer. */
  status_prefix: z.string().min(1).default('::status '),
  /** An answer that is longer fails the run: half of one could say the opposite. */
  max_output_bytes: positiveInt.max(16 * 1_048_576).default(1_048_576),
  ...agentBase,
});

/** Somebody else's service: a signed POST, the answer in the body or later by a callback. */
const httpAgent = z.strictObject({
  kind: z.literal('http'),
  url: httpUrl,
  /** Signs what we send (Standard Webhooks). */
  secret: z
    .string({
      error: notA('a string', 'An agent of kind http needs a secret, because requests to it are signed.'),
    })
    .min(1),
  headers: z.record(z.string(), z.string()).default({}),
  /** One request. An agent that needs longer says 202 and calls back. */
  request_timeout_seconds: positiveSeconds.default(300),
  ...agentBase,
});

const agent = z.discriminatedUnion('kind', [llmAgent, commandAgent, httpAgent]);

/** A server of tools (Model Context Protocol): a program of the operator's own, or an address. */
const mcpServer = z
  .strictObject({
    /** The program, spoken to over stdin and stdout; its arguments stand in `args`. */
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    /** Beside PATH, HOME and the like: nothing else of ours is handed over. */
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().min(1).optional(),
    /** Streamable HTTP. */
    url: httpUrl.optional(),
    headers: z.record(z.string(), z.string()).optional(),
    /** One call. */
    timeout_seconds: positiveSeconds.max(86_400).default(120),
  })
  .superRefine((given, context) => {
    const refuse = (message: string, path: string[] = []) =>
      context.addIssue({ code: 'custom', message, path });
    if ((given.command === undefined) === (given.url === undefined)) {
      refuse('an MCP server has either a `command` (stdio) or a `url` (streamable HTTP). Set one of them.');
      return;
    }
    const foreign = given.command === undefined ? (['args', 'env', 'cwd'] as const) : (['headers'] as const);
    for (const key of foreign) {
      if (given[key] === undefined) continue;
      refuse(
        `this key needs ${given.command === undefined ? '`command`' : '`url`'}, which this server does not have. Remove it.`,
        [key],
      );
    }
  });

/** How commands run: `terminal`, `process` and agents of kind `command`. 0 = no limit, where it may be 0. */
const processWatcher = z.strictObject({
  /**
   * Who commands run as. `auto`: as root a user of each session's own (numbers from 200000 on), else the service's own
   * user in namespaces (bubblewrap); where that is not possible, process-watcher refuses to start. `same`: the service's
   * own user, without isolation. A number: always this user.
   */
  run_as: z.union([z.enum(['auto', 'same']), z.number().int().positive()]).default('auto'),
  /** `host`: what the host reaches, its own services included. `none`: nothing. */
  network: z.enum(['host', 'none']).default('host'),
  /** Not as root: what commands see beside the system and their session's own files. As root the modes of files decide. */
  read_paths: z.array(z.string().min(1)).default([]),
  /** The same, and they may write there. */
  write_paths: z.array(z.string().min(1)).default([]),
  /** Runs the model's command lines; without it bash, or sh where there is none. */
  shell: z.string().min(1).optional(),
  /** Added to the small clean environment of every command. Models can read it. */
  environment: z.record(z.string(), z.string()).default({}),
  /** Commands at once, foreground and background together. */
  max_processes: positiveInt.default(512),
  /** How much of each command's output is kept. */
  output_bytes: positiveInt.min(65_536).default(4 * 1_048_576),
  /** A background process that lives longer is ended. */
  max_lifetime_seconds: positiveSeconds.default(86_400),
  /** One that prints nothing for so long is ended. */
  max_idle_seconds: seconds.default(0),
  /** Of CPU time, per process. */
  cpu_seconds: count.default(0),
  /** Of address space, per process. */
  memory_bytes: count.default(0),
  /**
   * Of memory that all commands of a session have together, daemons included; beyond it all of them are ended. The
   * default is less than the 4 GiB that our Compose file and manifests give to process-watcher with all commands.
   */
  session_memory_bytes: count.default(3 * 1024 ** 3),
  /** The largest file that a command may write. */
  file_bytes: count.default(4 * 1024 ** 3),
  /** Processes and threads: of one session where each has a user of its own (as root), of one command with bubblewrap. */
  max_user_processes: count.default(1024),
  /** Output of ended processes and the files of ended sessions are kept for so long. */
  keep_hours: positiveSeconds.default(72),
  /** A watcher that was not heard of for so long is gone for good: its processes are lost. */
  host_lease_seconds: positiveSeconds.default(120),
});

/** Keys of the target adapters differ; each adapter checks its own part (unknown keys included) at start. */
const targetConfig = z.record(z.string(), z.unknown());

/** Which of these a filter has is what it does; `field` says with what. */
export const fieldOperators = [
  'exists',
  'missing',
  'equals',
  'not_equals',
  'contains',
  'in',
  'in_file',
  'regex',
] as const;
export const groupOperators = ['all', 'any', 'not'] as const;

/** Longer ones are lists in disguise, for which there are `in` and `in_file`. */
const LONGEST_PATTERN = 1000;

const filterShape = z.strictObject({
  field: z.string().optional(),
  exists: z.boolean().optional(),
  missing: z.boolean().optional(),
  equals: z.unknown().optional(),
  not_equals: z.unknown().optional(),
  contains: z.unknown().optional(),
  in: z
    .array(z.unknown())
    .min(1, 'the list is empty, so the filter never matches. Write at least one entry.')
    .optional(),
  in_file: z.string().min(1).optional(),
  regex: z
    .string()
    .min(1)
    .max(LONGEST_PATTERN, `the pattern is too long. Write at most ${LONGEST_PATTERN} characters.`)
    .optional(),
  get all() {
    return z.array(filter).min(1, 'the list is empty. Write at least one filter.').optional();
  },
  get any() {
    return z.array(filter).min(1, 'the list is empty. Write at least one filter.').optional();
  },
  get not() {
    return filter.optional();
  },
});

/** Hermes takes the first operator that it knows and drops the rest in silence; here exactly one must be given. */
const filter: z.ZodType<FilterConfig, FilterConfig> = filterShape.superRefine((given, context) => {
  const groups = groupOperators.filter((name) => Object.hasOwn(given, name));
  const operators = fieldOperators.filter((name) => Object.hasOwn(given, name));
  const refuse = (message: string) => context.addIssue({ code: 'custom', message });
  if (groups.length + operators.length !== 1) {
    const all = [...fieldOperators, ...groupOperators].join(', ');
    refuse(`a filter has exactly one of ${all}. For several, write a list of filters or use \`all\`.`);
  } else if (groups.length === 1 && given.field !== undefined) {
    refuse(`\`${groups[0]}\` has no \`field\` of its own. Write \`field\` in each filter inside it.`);
  } else if (operators.length === 1) {
    const problem = fieldProblem(given.field);
    if (problem !== null) refuse(problem);
  }
  for (const name of ['equals', 'not_equals', 'contains', 'in'] as const) {
    if (holdsInexactNumber(given[name])) {
      refuse(`\`${name}\`: this number is too long to be kept exactly. Put it in quotes.`);
    }
  }
});

export interface FilterConfig {
  field?: string | undefined;
  exists?: boolean | undefined;
  missing?: boolean | undefined;
  equals?: unknown;
  not_equals?: unknown;
  contains?: unknown;
  in?: unknown[] | undefined;
  in_file?: string | undefined;
  regex?: string | undefined;
  all?: FilterConfig[] | undefined;
  any?: FilterConfig[] | undefined;
  not?: FilterConfig | undefined;
}

function fieldProblem(field: string | undefined): string | null {
  if (field === undefined)
    return 'the filter has no `field`. Set it, for example to `action` or `headers.X-Kind`.';
  if (field.split('.').some((part) => part.trim() === ''))
    return `\`${field}\` is not a path. Write one such as a.b.0.c.`;
  return field === 'headers'
    ? '`headers` alone is not a field. Name a header, such as `headers.X-Kind`.'
    : null;
}

/** Every request walks its route's filters, and a route may come over the API: both bounds are far above real use. */
const MOST_FILTER_VALUES = 10_000;
const DEEPEST_FILTER = 32;

/** Level by level and not by recursion, which a hostile document could make run out of stack. */
function sizeProblem(filters: unknown): string | null {
  let level = [filters];
  let values = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    values += level.length;
    if (depth > DEEPEST_FILTER)
      return `the filters are nested too deep. Use at most ${DEEPEST_FILTER} levels.`;
    if (values > MOST_FILTER_VALUES) {
      return `the filters have more than ${MOST_FILTER_VALUES} values. Put a long list into a file (\`in_file\`).`;
    }
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return null;
}

function holdsInexactNumber(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInexactNumber);
}

/** No separators and no dots: a skill is named, not addressed. */
const skillName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$/,
    'the name of a skill has 1 to 63 letters, digits, - and _, and starts with a letter or a digit.',
  );
/** Together with the cap of a skill (service-kit) half a megabyte of instructions: more than any model reads well. */
const MOST_SKILLS = 8;

/** Hermes route keys that we do not have: refused by name, with what to do instead. */
export const refusedHermesKeys: Readonly<Record<string, string>> = {
  cron_job: 'Angelia has no scheduler. Let cron or a Kubernetes CronJob POST to the route.',
  profile: "Angelia has no profiles. Name an agent under `agents` and set the route's `agent`.",
  mirror_to_session:
    'Angelia has no such key. Set `session_key`, so that further webhooks go to the same session.',
};

/** Ways in which a sender proves who it is (services/ingress/src/schemes), as a route's `auth` names them. */
export const authSchemes = [
  'standard-webhooks',
  'svix',
  'github',
  'gitlab',
  'stripe',
  'slack',
  'linear',
  'shopify',
  'twilio',
  'hmac',
  'hmac-body',
  'bearer',
  'basic',
] as const;
export type AuthScheme = (typeof authSchemes)[number];

const route = z.strictObject({
  enabled: z.boolean().default(true),
  secret: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  auth: z.enum(authSchemes).optional(),
  events: z.array(z.string()).default([]),
  /** All must hold; one may stand without a list, as in Hermes. */
  filters: z.preprocess((given, context) => {
    const problem = sizeProblem(given);
    if (problem !== null) {
      context.addIssue({ code: 'custom', message: problem });
      return z.NEVER;
    }
    return typeof given === 'object' && given !== null && !Array.isArray(given) ? [given] : given;
  }, z.array(filter).default([])),
  script: z.string().min(1).optional(),
  retry_on_script_failure: z.boolean().optional(),
  prompt: z.string().default('{__raw__}'),
  title: z.string().optional(),
  skills: z
    .array(skillName)
    .max(MOST_SKILLS, `the list is too long. A route has at most ${MOST_SKILLS} skills.`)
    .default([]),
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

/** One route; also the body of PUT /v1/routes/{name}. */
export const routeSchema = route;
export const filterSchema = filter;

export const configSchema = z
  .strictObject({
    secret: z.string().min(1).optional(),
    /** Where senders reach ingress, e.g. `https://hooks.example.com`: Twilio signs the address it calls. */
    public_url: httpUrl.optional(),
    limits: z
      .strictObject({
        max_body_bytes: positiveInt.default(1_048_576),
        /** Of bodies that arrive and whose sender is not known yet, over all connections. Beyond it the quietest is cut (503). */
        max_unauthenticated_bytes: positiveInt.default(64 * 1_048_576),
        /** The part of it that one address may hold. */
        max_unauthenticated_bytes_per_address: positiveInt.default(32 * 1_048_576),
        /** Of a body that arrives in several parts, over 5 seconds; a slower one is cut (408). 0 = no minimum. */
        min_body_bytes_per_second: count.default(1024),
        /** Of ingress, all sorts together. Beyond it idle ones are closed, and new ones refused. */
        max_connections: positiveInt.default(4096),
        /** Addresses and networks whose `X-Forwarded-For` is believed: those of your reverse proxies. */
        trusted_proxies: z.array(network).default([]),
        rate_limit: z.number().int().nonnegative().default(30),
        /** A route's `script`. GitHub hangs up after 10 s, of which the commit may need 4. */
        script_timeout_seconds: positiveSeconds.max(60).default(5),
      })
      .prefault({}),
    models: z.record(name, model).default({}),
    agents: z.record(name, agent).default({}),
    mcp_servers: z.record(name, mcpServer).default({}),
    targets: z.record(z.string(), targetConfig).default({}),
    delivery: z
      .strictObject({
        retry_schedule_seconds: z.array(seconds).default([5, 30, 120, 600, 3600]),
        max_age_seconds: positiveSeconds.default(86_400),
        /** One request to a target; the claim's deadline is longer than this. */
        request_timeout_seconds: positiveSeconds.default(30),
      })
      .prefault({}),
    retention: z
      .strictObject({
        sessions_days: z.number().positive().default(90),
        delivery_ids_days: z
          .number()
          .min(7, 'delivery ids are kept for at least 7 days. Use 7 or more.')
          .default(7),
        /** Write sessions to `directories.exports` before they are pruned. */
        export: z.boolean().default(false),
      })
      .prefault({}),
    directories: z
      .strictObject({
        scripts: z.string().default('./scripts'),
        skills: z.string().default('./skills'),
        exports: z.string().default('./exports'),
      })
      .prefault({}),
    process_watcher: processWatcher.prefault({}),
    api_routes: z.strictObject({ allowed_toolsets: z.array(z.string()).default(['clarify']) }).prefault({}),
    timing: z
      .strictObject({
        lease_seconds: positiveSeconds.default(20),
        sweep_seconds: positiveSeconds.default(10),
        lead_seconds: positiveSeconds.default(5),
        prune_seconds: positiveSeconds.default(3600),
      })
      .prefault({}),
    nats: z.strictObject({ replicas: z.number().int().min(1).max(5).default(1) }).prefault({}),
    routes: z.record(name, route).default({}),
  })
  .meta({ title: 'Angelia config' });

export type Config = z.infer<typeof configSchema>;
export type RouteConfig = Config['routes'][string];
export type AgentConfig = Config['agents'][string];
export type LlmAgentConfig = Extract<AgentConfig, { kind: 'llm' }>;
export type CommandAgentConfig = Extract<AgentConfig, { kind: 'command' }>;
export type HttpAgentConfig = Extract<AgentConfig, { kind: 'http' }>;
export type ModelConfig = Config['models'][string];
export type ProcessWatcherConfig = Config['process_watcher'];
export type McpServerConfig = Config['mcp_servers'][string];

/** @param written what the file says, before variables were filled in: problems quote values from it */
export function parseConfig(
  raw: unknown,
  written: unknown = raw,
):
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: ConfigProblem[] } {
  const checked = validate(configSchema, raw ?? {}, { quoteFrom: written, unknownKey: hermesAdvice });
  if (checked.ok) return { ok: true, config: checked.value };
  return {
    ok: false,
    problems: checked.problems.map(({ place, reason }) => ({ place: place || '(top)', reason })),
  };
}

function hermesAdvice([section]: readonly string[], key: string): string | undefined {
  return section === 'routes' && Object.hasOwn(refusedHermesKeys, key) ? refusedHermesKeys[key] : undefined;
}

/** For editors: `# yaml-language-server: $schema=...`. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: 'input' });
}

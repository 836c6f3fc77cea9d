import { z } from 'zod';
import { type ConfigProblem, validate } from '../validate.ts';
import { agentSchema } from './agents.ts';
import { chatSchema } from './chats.ts';
import { mcpServerSchema } from './mcp-servers.ts';
import { modelSchema } from './models.ts';
import { processWatcherSchema } from './process-watcher.ts';
import { refusedHermesKeys, routeSchema } from './routes.ts';
import { count, httpUrl, name, network, positiveInt, positiveSeconds, seconds } from './values.ts';

/** Each target adapter has its own keys and checks them at start, including unknown ones. */
const targetConfig = z.record(z.string(), z.unknown());

/**
 * The config file (INTERFACES.md, "Config file"). Every object is strict: an unknown key is an error that names the key and
 * its place. Defaults are in the schema and nowhere else, so that the JSON Schema for editors shows them too.
 */
export const configSchema = z
  .strictObject({
    secret: z.string().min(1).optional(),
    /** Where senders reach ingress, e.g. `https://hooks.example.com`. Needed for Twilio, which signs the URL that it calls. */
    public_url: httpUrl.optional(),
    /** The page of Jaeger, e.g. `https://jaeger.example.com`. The console links the trace of a session to it. */
    jaeger_url: httpUrl.optional(),
    limits: z
      .strictObject({
        max_body_bytes: positiveInt.default(1_048_576),
        /** Total size of incoming bodies from senders that are not authenticated yet. Above it the slowest is cut off (503). */
        max_unauthenticated_bytes: positiveInt.default(64 * 1_048_576),
        /** The share of it that one address may use. */
        max_unauthenticated_bytes_per_address: positiveInt.default(32 * 1_048_576),
        /** Minimum rate of a body that arrives in several parts, over 5 seconds. A slower one is cut off (408). 0: no minimum. */
        min_body_bytes_per_second: count.default(1024),
        /** Most connections of ingress, of all kinds. Above it idle ones are closed and new ones are refused. */
        max_connections: positiveInt.default(4096),
        /** Addresses and networks of your reverse proxies. Their `X-Forwarded-For` is trusted. */
        trusted_proxies: z.array(network).default([]),
        /** Off by default: GitHub sends bursts and does not repeat what was refused. An overload is answered 503. */
        rate_limit: z.number().int().nonnegative().default(0),
        /** Limit for the `script` of a route. GitHub hangs up after 10 s, and the commit may need 4 of them. */
        script_timeout_seconds: positiveSeconds.max(60).default(5),
      })
      .prefault({}),
    models: z.record(name, modelSchema).default({}),
    agents: z.record(name, agentSchema).default({}),
    mcp_servers: z.record(name, mcpServerSchema).default({}),
    targets: z.record(z.string(), targetConfig).default({}),
    delivery: z
      .strictObject({
        retry_schedule_seconds: z.array(seconds).default([5, 30, 120, 600, 3600]),
        max_age_seconds: positiveSeconds.default(86_400),
        /** Limit for one request to a target. The deadline of the claim is longer than this. */
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
        /** Write sessions to `directories.exports` before pruning them. */
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
    process_watcher: processWatcherSchema.prefault({}),
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
    routes: z.record(name, routeSchema).default({}),
    chats: z.record(name, chatSchema).default({}),
  })
  .meta({ title: 'Angelia config' });

export type Config = z.infer<typeof configSchema>;

export type RouteConfig = Config['routes'][string];

export type ChatConfig = Config['chats'][string];

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

/** The text of angelia.schema.json, the file that is committed. */
export function configSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}

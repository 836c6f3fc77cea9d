import { hostname } from 'node:os';
import { notA, validate } from '@angelia/contracts';
import { z } from 'zod';
import { StartupError } from './startup-error.ts';

export const serviceNames = ['ingress', 'agent-runner', 'delivery', 'process-watcher'] as const;
export type ServiceName = (typeof serviceNames)[number];

const port = z.coerce.number().int().min(0).max(65_535);
const KEY_BYTES = 32;
/** Where ingress listens if ANGELIA_HOST is not set: nobody outside of this machine reaches it. */
export const DEFAULT_HOST = '127.0.0.1';
export const DEFAULT_DATA = './.angelia';

const NOT_A_KEY = notA('32 bytes in base64', 'Make it with `openssl rand -base64 32`.');
const NOT_POSTGRES = notA(
  'a URL of Postgres',
  'Set it, for example to postgres://user@127.0.0.1:5432/angelia.',
  'not set',
);
const NOT_NATS = notA(
  'a URL of NATS',
  'Set it, for example to nats://127.0.0.1:4222 (for a cluster, several with commas between).',
  'not set',
);

function isNatsUrl(url: string): boolean {
  const [scheme, rest] = url.trim().includes('://') ? url.trim().split('://', 2) : ['nats', url.trim()];
  return (scheme === 'nats' || scheme === 'tls') && rest !== undefined && rest !== '';
}

/** What a span may hold of the texts of a session, each only if the operator asks for it. */
export const contentClasses = ['prompts', 'answers', 'tool_arguments', 'tool_results'] as const;
export type ContentClass = (typeof contentClasses)[number];

/**
 * The words that other instrumentations take for this variable, or a list of classes. OpenTelemetry names the variable as an
 * example only and leaves its values open. `EVENT_ONLY` and `SPAN_AND_EVENT` are refused: we have no such events.
 */
const captureWords: Readonly<Record<string, readonly ContentClass[]>> = {
  false: [],
  no_content: [],
  true: contentClasses,
  span_only: contentClasses,
};

/** Null: not understood. */
function contentToCapture(text: string): readonly ContentClass[] | null {
  const word = text.trim().toLowerCase();
  if (Object.hasOwn(captureWords, word)) return captureWords[word] ?? [];
  const named = word.split(',').map((name) => name.trim());
  const known = contentClasses.filter((one) => named.includes(one));
  return known.length === new Set(named).size ? known : null;
}

const otlpUrl = z
  .url({
    protocol: /^https?$/,
    error: notA('an http or https URL', 'Set it, for example to http://127.0.0.1:4318.'),
  })
  .optional();

/** INTERFACES.md, "Environment", and docs/configure.md. An empty variable counts as unset: Compose files pass those. */
export const variables = z.object({
  ANGELIA_CONFIG: z.string().optional(),
  DATABASE_URL: z.url({
    protocol: /^postgres(ql)?$/,
    error: NOT_POSTGRES,
  }),
  NATS_URL: z
    .string({ error: NOT_NATS })
    .refine((urls) => urls.split(',').every(isNatsUrl), { error: NOT_NATS }),
  // No `#`: it separates the instance from the incarnation in a holder's name.
  ANGELIA_INSTANCE: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
      'the name has the wrong form. Use up to 100 letters, digits, dots, - and _.',
    )
    .optional(),
  ANGELIA_ADMIN_HOST: z.string().default(DEFAULT_HOST),
  ANGELIA_ADMIN_PORT: port.optional(),
  ANGELIA_HOST: z.string().default(DEFAULT_HOST),
  ANGELIA_PORT: port.default(8644),
  ANGELIA_MASTER_KEY: z
    .base64({ error: NOT_A_KEY })
    .refine((key) => Buffer.from(key, 'base64').length === KEY_BYTES, { error: NOT_A_KEY })
    .optional(),
  ANGELIA_ADMIN_TOKEN: z
    .string()
    .min(16, 'the token is too short. Use at least 16 characters: it opens all of /v1.')
    .optional(),
  ANGELIA_DRAIN_SECONDS: z.coerce.number().nonnegative().default(30),
  ANGELIA_DATA: z.string().default(DEFAULT_DATA),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: otlpUrl,
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: otlpUrl,
  OTEL_ANGELIA_INTERNALS: z.enum(['true', 'false', '1', '0']).optional(),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: z
    .string()
    .refine((text) => contentToCapture(text) !== null, {
      error: `this is not true, false or a list of ${contentClasses.join(', ')}. Use for example prompts,answers.`,
    })
    .optional(),
  ANGELIA_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

export interface Environment {
  readonly service: ServiceName;
  /** Stable across restarts, so that a service can free what its dead predecessor held. */
  readonly instance: string;
  readonly configPath: string | undefined;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly adminHost: string;
  /** Unset: no admin server. (ingress also has the health endpoints on its public port.) */
  readonly adminPort: number | undefined;
  readonly host: string;
  readonly port: number;
  readonly masterKey: string | undefined;
  readonly adminToken: string | undefined;
  readonly drainSeconds: number;
  readonly dataDirectory: string;
  /** What is exported over OTLP: what has an endpoint, of its own or for all signals. */
  readonly otlp: { readonly traces: boolean; readonly metrics: boolean };
  /** Spans of the log and the bus, too. */
  readonly traceInternals: boolean;
  /** Texts of sessions that spans hold. */
  readonly captureContent: readonly ContentClass[];
  readonly logLevel: string;
}

/**
 * Checks what can be wrong before anything is started: the URLs may still be missing.
 * @throws StartupError
 */
export function checkEnvironment(env: NodeJS.ProcessEnv): void {
  const checked = validate(variables.partial(), setVariables(env));
  if (checked.ok) return;
  throw new StartupError(checked.problems.map(({ place, reason }) => `${place} (environment): ${reason}`));
}

/** @throws StartupError that names each variable that is missing or wrong */
export function readEnvironment(service: ServiceName, env: NodeJS.ProcessEnv): Environment {
  const checked = validate(variables, setVariables(env));
  if (!checked.ok) {
    throw new StartupError(
      checked.problems.map(({ place, reason }) => `${place} (environment of ${service}): ${reason}`),
    );
  }
  const values = checked.value;
  return {
    service,
    instance: values.ANGELIA_INSTANCE ?? `${service}-${hostname()}`,
    configPath: values.ANGELIA_CONFIG,
    databaseUrl: values.DATABASE_URL,
    natsUrl: values.NATS_URL,
    adminHost: values.ANGELIA_ADMIN_HOST,
    adminPort: values.ANGELIA_ADMIN_PORT,
    host: values.ANGELIA_HOST,
    port: values.ANGELIA_PORT,
    masterKey: values.ANGELIA_MASTER_KEY,
    adminToken: values.ANGELIA_ADMIN_TOKEN,
    drainSeconds: values.ANGELIA_DRAIN_SECONDS,
    dataDirectory: values.ANGELIA_DATA,
    otlp: {
      traces: (values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined,
      metrics:
        (values.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined,
    },
    traceInternals: ['true', '1'].includes(values.OTEL_ANGELIA_INTERNALS ?? ''),
    captureContent:
      contentToCapture(values.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT ?? 'false') ?? [],
    logLevel: values.ANGELIA_LOG_LEVEL,
  };
}

function setVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

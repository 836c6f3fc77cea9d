import { hostname } from 'node:os';
import { z } from 'zod';
import { StartupError } from './startup-error.ts';

export const serviceNames = ['ingress', 'agent-runner', 'delivery', 'process-watcher'] as const;
export type ServiceName = (typeof serviceNames)[number];

const port = z.coerce.number().int().min(0).max(65_535);
const KEY_BYTES = 32;

function isNatsUrl(url: string): boolean {
  const [scheme, rest] = url.trim().includes('://') ? url.trim().split('://', 2) : ['nats', url.trim()];
  return (scheme === 'nats' || scheme === 'tls') && rest !== undefined && rest !== '';
}

/** INTERFACES.md, "Environment", and docs/configure.md. An empty variable is an unset one: compose files hand those over. */
export const variables = z.object({
  ANGELIA_CONFIG: z.string().optional(),
  DATABASE_URL: z.url({
    protocol: /^postgres(ql)?$/,
    error: 'the URL of Postgres is wanted, e.g. postgres://user@127.0.0.1:5432/angelia',
  }),
  NATS_URL: z
    .string({ error: 'the URL of NATS is wanted, e.g. nats://127.0.0.1:4222' })
    .refine((urls) => urls.split(',').every(isNatsUrl), {
      error:
        'the URL of NATS is wanted, e.g. nats://127.0.0.1:4222 (several of a cluster with commas between)',
    }),
  // `#` parts the instance from the incarnation in a holder's name.
  ANGELIA_INSTANCE: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'letters, digits, dots, - and _ only')
    .optional(),
  ANGELIA_ADMIN_HOST: z.string().default('127.0.0.1'),
  ANGELIA_ADMIN_PORT: port.optional(),
  ANGELIA_HOST: z.string().default('127.0.0.1'),
  ANGELIA_PORT: port.default(8644),
  ANGELIA_MASTER_KEY: z
    .base64()
    .refine((key) => Buffer.from(key, 'base64').length === KEY_BYTES, '32 bytes in base64 are wanted')
    .optional(),
  ANGELIA_ADMIN_TOKEN: z.string().min(16, 'at least 16 characters, as it opens all of /v1').optional(),
  ANGELIA_DRAIN_SECONDS: z.coerce.number().nonnegative().default(30),
  ANGELIA_DATA: z.string().default('./.angelia'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'an http or https URL is wanted' })
    .optional(),
  ANGELIA_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

export interface Environment {
  readonly service: ServiceName;
  /** Stable across restarts: by it a service frees what its dead predecessor held. */
  readonly instance: string;
  readonly configPath: string | undefined;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly adminHost: string;
  /** Unset: no admin server (ingress has the health endpoints on its public port as well). */
  readonly adminPort: number | undefined;
  readonly host: string;
  readonly port: number;
  readonly masterKey: string | undefined;
  readonly adminToken: string | undefined;
  readonly drainSeconds: number;
  readonly dataDirectory: string;
  readonly otlpEndpoint: string | undefined;
  readonly logLevel: string;
}

/**
 * What of the environment can be wrong before anything is started: the URLs may still be to come.
 * @throws StartupError
 */
export function checkEnvironment(env: NodeJS.ProcessEnv): void {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = variables.partial().safeParse(given);
  if (parsed.success) return;
  throw new StartupError(
    parsed.error.issues.map((issue) => `${issue.path.map(String).join('.')} (environment): ${issue.message}`),
  );
}

/** @throws StartupError naming each variable that is missing or wrong. */
export function readEnvironment(service: ServiceName, env: NodeJS.ProcessEnv): Environment {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = variables.safeParse(given);
  if (!parsed.success) {
    throw new StartupError(
      parsed.error.issues.map((issue) => {
        const name = issue.path.map(String).join('.');
        return `${name} (environment of ${service}): ${given[name] === undefined ? 'not set; ' : ''}${issue.message}`;
      }),
    );
  }
  const values = parsed.data;
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
    otlpEndpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
    logLevel: values.ANGELIA_LOG_LEVEL,
  };
}

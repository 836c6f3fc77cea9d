import { scrubber, secretsInUrl, secretValuesIn } from '@angelia/config';
import { type Config, isSecretKey } from '@angelia/contracts';
import { chatsFindings } from './chats/findings.ts';
import { type CheckedConfig, checkConfig, environmentFindings } from './config.ts';
import { type Finding, fault, reasonOf, skipped } from './finding.ts';
import { lastHourFindings } from './last-hour.ts';
import type { LocalStack } from './local-stack.ts';
import { diskFindings, nodeFindings } from './machine.ts';
import { mcpFindings } from './mcp-servers.ts';
import { modelsFindings } from './models.ts';
import { natsFindings } from './nats.ts';
import { postgresFindings } from './postgres.ts';
import { runCheck } from './run-check.ts';
import { type SeenService, seenFindings } from './seen-services.ts';
import { countServices, servicesFindings } from './services.ts';
import { targetsFindings } from './targets/findings.ts';

export interface ExamineOptions {
  /** The environment of the services (INTERFACES.md, "Environment"). Missing variables come from the local stack. */
  readonly env: NodeJS.ProcessEnv;
  readonly local: LocalStack;
  /** Also the checks that call others: targets, chats, models, MCP servers. Default true. */
  readonly calls?: boolean;
  /** The address of ingress, if it differs from ANGELIA_HOST and ANGELIA_PORT. */
  readonly ingressUrl?: string;
  /** Base URLs of admin ports by service name, for services outside a local stack. */
  readonly adminUrls?: Readonly<Record<string, string>>;
  /** For a service that makes the checks: the replicas that say by themselves that they are there. */
  readonly seen?: readonly SeenService[];
  /** The limit for one request. */
  readonly timeoutMs?: number;
  /** An open transaction that has written and is older than this is a fault. */
  readonly longTransactionMs?: number;
  readonly now?: () => number;
  readonly nodeVersion?: string;
}

/** A platform that takes longer for a read does not work well enough. */
const REQUEST_MS = 5_000;
/** A check makes several requests, one after the other. */
const REQUESTS_PER_CHECK = 4;
/** Ours take milliseconds. The longest legitimate one of others (a migration, a bulk load) may take this long. */
const LONG_TRANSACTION_MS = 5_000;
const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = '8644';

/** Checks everything that Angelia depends on. It changes nothing, sends no message, and never throws for what it finds. */
export async function examine(options: ExamineOptions): Promise<Finding[]> {
  const timeoutMs = options.timeoutMs ?? REQUEST_MS;
  const { local, calls = true, seen } = options;
  const env = { ...local.environment, ...given(options.env) };
  const { config, findings: configFindings } = checkedConfig(env);
  const check = (name: string, look: () => Promise<readonly Finding[]>) =>
    runCheck(name, timeoutMs * REQUESTS_PER_CHECK, look);
  const adminUrls = options.adminUrls ?? {};

  const found = await Promise.all([
    check('node', async () => nodeFindings(options.nodeVersion ?? process.version)),
    check('disk', () => diskFindings(local.dataDirectory)),
    configFindings,
    check('environment', async () => environmentFindings(env)),
    check('postgres', () =>
      postgresFindings({
        url: env.DATABASE_URL,
        timeoutMs,
        now: options.now ?? Date.now,
        services: Math.max(countServices(local, adminUrls), seen?.length ?? 0),
        longTransactionMs: options.longTransactionMs ?? LONG_TRANSACTION_MS,
      }),
    ),
    check('last-hour', () =>
      lastHourFindings({ url: env.DATABASE_URL, timeoutMs, now: options.now ?? Date.now }),
    ),
    check('nats', () => natsFindings({ url: env.NATS_URL, timeoutMs, replicas: config?.nats.replicas ?? 1 })),
    check('services', async () =>
      seen !== undefined
        ? seenFindings(seen)
        : servicesFindings({ local, adminUrls, ingressUrls: ingressUrls(options, env, local), timeoutMs }),
    ),
    ...(config === null
      ? [
          [
            skipped(
              'targets',
              'targets, chats, models and MCP servers are in the config, which does not load',
            ),
          ],
        ]
      : [
          check('chats', () =>
            chatsFindings(config, {
              ...{ databaseUrl: env.DATABASE_URL, calls, timeoutMs },
              now: options.now ?? Date.now,
            }),
          ),
        ]),
    ...(config === null || !calls
      ? []
      : [
          check('targets', () => targetsFindings(config, timeoutMs)),
          check('models', () => modelsFindings(config, timeoutMs)),
          check('mcp', () => mcpFindings(config, env.PATH ?? '', timeoutMs)),
        ]),
  ]);
  const clean = scrubber(secretsOf(env, config));
  return found.flat().map((finding) => ({
    ...finding,
    what: clean(finding.what),
    ...(finding.todo === undefined ? {} : { todo: clean(finding.todo) }),
  }));
}

/** Like `runCheck`, for the check that the others wait for. */
function checkedConfig(env: NodeJS.ProcessEnv): CheckedConfig {
  try {
    return checkConfig(env);
  } catch (error) {
    const what = `could not be checked: ${reasonOf(error)}`;
    return { config: null, findings: [fault('config', what, 'fix that, then run doctor again')] };
  }
}

/** An empty variable counts as unset, because compose files pass empty ones. */
function given(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
}

function ingressUrls(options: ExamineOptions, env: NodeJS.ProcessEnv, local: LocalStack): string[] {
  if (options.ingressUrl !== undefined) return [options.ingressUrl];
  const host = env.ANGELIA_HOST ?? DEFAULT_HOST;
  const reachable = host === '0.0.0.0' ? DEFAULT_HOST : host === '::' ? '::1' : host;
  const ports =
    env.ANGELIA_PORT !== undefined && env.ANGELIA_PORT !== '0'
      ? [env.ANGELIA_PORT]
      : [...(local.keptIngressPort === undefined ? [] : [String(local.keptIngressPort)]), DEFAULT_PORT];
  return ports.map((port) => `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`);
}

/** All secrets, because some platforms quote the credential that they refuse. */
function secretsOf(env: NodeJS.ProcessEnv, config: Config | null): string[] {
  const ofEnvironment = Object.entries(env).flatMap(([name, value = '']) => [
    ...(isSecretKey(name) ? [value] : []),
    ...(value.includes('://') ? secretsInUrl(value) : []),
  ]);
  return [...ofEnvironment, ...secretValuesIn(config)];
}

import { join } from 'node:path';
import { repositoryRoot } from './layout.ts';
import type { PortBook } from './ports.ts';
import { instancesOf, type Replicas, type ServiceName } from './replicas.ts';
import type { Program } from './supervise.ts';

/** The scripts that make up a stack. Tests of the launcher put small ones of their own in their place. */
export interface Scripts {
  readonly checkConfig: string;
  readonly migrate: string;
  readonly services: Readonly<Record<ServiceName, string>>;
}

export const realScripts: Scripts = {
  checkConfig: join(repositoryRoot, 'dist/check-config.js'),
  migrate: join(repositoryRoot, 'dist/migrate.js'),
  services: {
    ingress: join(repositoryRoot, 'dist/ingress.js'),
    'agent-runner': join(repositoryRoot, 'dist/agent-runner.js'),
    delivery: join(repositoryRoot, 'dist/delivery.js'),
    'process-watcher': join(repositoryRoot, 'dist/process-watcher.js'),
  },
};

export interface ServiceInstance {
  readonly program: Program;
  readonly instance: string;
  readonly adminPort: number;
  /** Where it takes webhooks; null for the services that have no public port. */
  readonly publicUrl: string | null;
}

/** As .vscode/launch.json has them. */
const INSPECT_PORTS: Readonly<Record<ServiceName, number>> = {
  ingress: 9231,
  'agent-runner': 9232,
  delivery: 9233,
  'process-watcher': 9234,
};

/**
 * A young generation that begins with 8 MB: a start fills it, and from less it would be collected and grown step by step
 * (8% of a start's CPU). It stays at 8 instead of 16 MB: an idle service is 15 MB smaller (of 150), for some 3% more CPU.
 * Not for ingress, which has fewer libraries to hold and each webhook's time to lose, nor for delivery, which
 * leads the relay and the projection: collecting was a seventh of the leader's time.
 */
function nodeOptions(service: ServiceName, inspect: boolean): string[] {
  return [
    ...(inspect ? [`--inspect=127.0.0.1:${INSPECT_PORTS[service]}`] : []),
    '--min-semi-space-size=8',
    ...(service === 'ingress' || service === 'delivery' ? [] : ['--max-semi-space-size=8']),
  ];
}

/** Ingress seals the secrets of routes with it and checks signed links; delivery makes those that go with a question, the runner
 * those for the callbacks of agents. */
const HOLDERS_OF_THE_MASTER_KEY: readonly ServiceName[] = ['ingress', 'delivery', 'agent-runner'];

/** Each service knows only those of the stack's own secrets that it needs. */
function withoutForeignSecrets(service: ServiceName): NodeJS.ProcessEnv {
  return {
    ...(HOLDERS_OF_THE_MASTER_KEY.includes(service) ? {} : { ANGELIA_MASTER_KEY: undefined }),
    ...(service === 'ingress' ? {} : { ANGELIA_ADMIN_TOKEN: undefined }),
  };
}

/** Above the service's own deadline, so that it is the service that decides what happens at it. */
const DRAIN_MARGIN_MS = 5_000;

export async function planServices(options: {
  scripts: Scripts;
  replicas: Replicas;
  ports: PortBook;
  host: string;
  /** Of the first ingress; the others get free ones. */
  port: number;
  env: NodeJS.ProcessEnv;
  envOf: (instance: string) => Promise<NodeJS.ProcessEnv>;
  drainSeconds: number;
  /** Whether the first of each service listens for a debugger. */
  inspect: boolean;
}): Promise<ServiceInstance[]> {
  const { scripts, replicas, ports, host, env, drainSeconds } = options;
  const planned: ServiceInstance[] = [];
  for (const { service, instance, nth } of instancesOf(replicas)) {
    const adminPort = await ports(`${instance}.admin`);
    const publicPort =
      nth === 1 ? options.port : service === 'ingress' ? await ports(instance, { host }) : null;
    planned.push({
      instance,
      adminPort,
      publicUrl: service === 'ingress' ? `http://${reachable(host)}:${publicPort}` : null,
      program: {
        name: instance,
        command: process.execPath,
        args: [...nodeOptions(service, options.inspect && nth === 1), scripts.services[service]],
        cwd: process.cwd(),
        env: {
          ...env,
          ...withoutForeignSecrets(service),
          ANGELIA_INSTANCE: instance,
          ANGELIA_ADMIN_PORT: String(adminPort),
          // The others need it for links that lead to (the first) ingress.
          ANGELIA_HOST: host,
          ANGELIA_PORT: String(publicPort ?? options.port),
          ...(await options.envOf(instance)),
        },
        ending: [
          { signal: 'SIGTERM', patienceMs: drainSeconds * 1000 + DRAIN_MARGIN_MS },
          { signal: 'SIGKILL', patienceMs: 0 },
        ],
      },
    });
  }
  return planned;
}

/** An address that a client on this machine can use for what the server listens on. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

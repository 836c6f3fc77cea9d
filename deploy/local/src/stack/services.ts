import { join } from 'node:path';
import { repositoryRoot } from '../data-directory/layout.ts';
import type { Ports } from '../data-directory/ports.ts';
import type { Program } from '../programs/supervised-program.ts';
import { instancesOf, type Replicas, type ServiceName } from './replicas.ts';

/** The scripts of a stack. Tests of the launcher replace them with small stand-ins. */
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
  /** Where it takes webhooks; null for services without a public port. */
  readonly publicUrl: string | null;
}

/** The same as in .vscode/launch.json. */
const INSPECT_PORTS: Readonly<Record<ServiceName, number>> = {
  ingress: 9231,
  'agent-runner': 9232,
  delivery: 9233,
  'process-watcher': 9234,
};

/**
 * The young generation begins small and grows with the load, and shrinks at rest (give-back-memory.ts). A larger beginning
 * would save some 15 ms of a start, but a service at rest fills it slowly to the last page. It grows to 8 MB instead of 16,
 * for some 3% more CPU. Not for ingress, where collecting delays webhooks, nor for delivery, which leads the relay and the
 * projection: collecting was a seventh of the leader's time.
 */
function nodeOptions(service: ServiceName, inspect: boolean): string[] {
  return [
    ...(inspect ? [`--inspect=127.0.0.1:${INSPECT_PORTS[service]}`] : []),
    ...(service === 'ingress' || service === 'delivery' ? [] : ['--max-semi-space-size=8']),
  ];
}

/**
 * For glibc. Fewer arenas, because free memory of one thread's arena is of no use to the others: 3 MB of a service at rest.
 * A fixed threshold, because glibc else raises it with the largest block that was freed, and keeps up to 20 MB of what V8's
 * compiler needed in a load.
 */
const MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: String(128 * 1024) };

/**
 * Ingress encrypts the secrets of routes with it and checks signed links. Delivery signs the links in questions, and the
 * runner those for the callbacks of agents.
 */
const HOLDERS_OF_THE_MASTER_KEY: readonly ServiceName[] = ['ingress', 'delivery', 'agent-runner'];

/** Each service gets only the stack's secrets that it needs. */
function withoutForeignSecrets(service: ServiceName): NodeJS.ProcessEnv {
  return {
    ...(HOLDERS_OF_THE_MASTER_KEY.includes(service) ? {} : { ANGELIA_MASTER_KEY: undefined }),
    ...(service === 'ingress' ? {} : { ANGELIA_ADMIN_TOKEN: undefined }),
  };
}

/** Added to the service's own deadline, so that the service decides what happens at it. */
const DRAIN_MARGIN_MS = 5_000;

export async function planServices(options: {
  scripts: Scripts;
  replicas: Replicas;
  ports: Ports;
  host: string;
  /** The port of the first ingress; the others get free ports. */
  port: number;
  env: NodeJS.ProcessEnv;
  /** The variables that the launcher and not its own environment decided. A service tells if `.env` has other values later. */
  decided: readonly string[];
  envOf: (instance: string) => Promise<NodeJS.ProcessEnv>;
  drainSeconds: number;
  /** Whether the first instance of each service listens for a debugger. */
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
          ...MALLOC,
          ...env,
          ...withoutForeignSecrets(service),
          ANGELIA_INSTANCE: instance,
          ANGELIA_ADMIN_PORT: String(adminPort),
          // The other services need it for links to the (first) ingress.
          ANGELIA_HOST: host,
          ANGELIA_PORT: String(publicPort ?? options.port),
          ANGELIA_SET_BY_LAUNCHER: options.decided
            .filter((name) => name !== 'ANGELIA_PORT' || (publicPort ?? options.port) === options.port)
            .join(','),
          ...(await options.envOf(instance)),
        },
        stopSignals: [
          { signal: 'SIGTERM', waitMs: drainSeconds * 1000 + DRAIN_MARGIN_MS },
          { signal: 'SIGKILL', waitMs: 0 },
        ],
      },
    });
  }
  return planned;
}

/** An address by which a client on this machine reaches a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

import 'reflect-metadata';
import { connectBus } from '@angelia/bus';
import { LiveConfig, type LoadedConfig, readEnvironment } from '@angelia/config';
import { holderId, parseConfig, TAIL_PING_SUBJECT } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { PATIENT } from '@angelia/event-log/testing';
import {
  announceCommits,
  createLogger,
  Drain,
  HEALTH_PATHS,
  Health,
  healthAnswer,
  ServiceKitModule,
  type ServiceRuntime,
} from '@angelia/service-kit';
import { Sessions } from '@angelia/sessions';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { EventFeed } from '../api/events/event-feed.ts';
import { SessionStreams } from '../api/stream/session-streams.ts';
import { ConsoleBundle } from '../console/bundle/console-bundle.ts';
import { httpServerOptions, type TimeLimits } from '../http/server-options.ts';
import { IngressModule } from '../ingress.module.ts';
import { ingressSettings } from '../settings.ts';

export const ADMIN_TOKEN = 'test-admin-token-0123';

export interface TestIngress {
  readonly baseUrl: string;
  readonly port: number;
  /** Subjects of the pings that were sent over core NATS. */
  readonly pings: readonly string[];
  /** Hints that were published on the bus. */
  readonly hints: readonly object[];
  /** Every route of the server, as Fastify knows them. */
  readonly served: readonly { readonly method: string; readonly path: string }[];
  readonly log: EventLog;
  readonly streams: () => SessionStreams;
  readonly feed: () => EventFeed;
  /** Everything that was logged, as text. */
  readonly logged: () => string;
  /** Puts another config in force, as a reload does. @throws StartupError if ingress refuses it */
  take(config: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

/** The whole app of ingress over real HTTP and a real log, without its process (signals, leading, NATS). */
export async function startIngress(options: {
  readonly databaseUrl: string;
  readonly config: Record<string, unknown>;
  /** For a real bus, whose pings wake things up. Without it pings are only recorded. */
  readonly natsUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeLimits?: TimeLimits;
  /** Instead of libs/console/dist. */
  readonly consoleDirectory?: string;
}): Promise<TestIngress> {
  const environment = readEnvironment('ingress', {
    DATABASE_URL: options.databaseUrl,
    NATS_URL: options.natsUrl ?? 'nats://127.0.0.1:1',
    ANGELIA_ADMIN_TOKEN: ADMIN_TOKEN,
    ANGELIA_INSTANCE: 'ingress-test',
    ...options.env,
  });
  const lines: string[] = [];
  const logger = createLogger({
    service: 'ingress',
    instance: environment.instance,
    level: 'trace',
    destination: { write: (line: string) => lines.push(line) },
  });
  const holder = holderId(environment.instance, 'test');
  const pings: string[] = [];
  const hints: object[] = [];
  const bus =
    options.natsUrl === undefined
      ? unconnectedBus(pings, hints)
      : connectBus({ url: options.natsUrl, name: 'ingress-test', replicas: 1, logger });
  const log = openEventLog({
    url: options.databaseUrl,
    instance: environment.instance,
    holder,
    logger,
    timeouts: PATIENT,
    onCommitted: announceCommits(bus),
  });
  const health = new Health();
  health.add('postgres', async () => {
    await log.status.ping();
    return { ok: true };
  });
  // Only the config itself is used here: there is no file.
  const loadedOf = (raw: Record<string, unknown>): LoadedConfig => {
    const checked = parseConfig(raw);
    if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
    return { config: checked.config, path: 'angelia.yaml' } as LoadedConfig;
  };
  const settingsOf = (loaded: LoadedConfig) =>
    ingressSettings.make(loaded, { environment, logger, previous: null });
  const loaded = loadedOf(options.config);
  const live = new LiveConfig(loaded, await settingsOf(loaded));
  const runtime: ServiceRuntime = {
    environment,
    config: live,
    reloads: {
      reload: async () => ({ status: 'unchanged', restartNeeded: [] }),
      readiness: () => ({ ok: true }),
      start: () => {},
      stop: () => {},
    },
    log,
    bus,
    logger,
    holder,
    sessions: new Sessions({ log, instance: environment.instance }),
    drain: new Drain(),
    health,
  };
  const adapter = new FastifyAdapter(httpServerOptions(loaded.config, options.timeLimits));
  const served: { method: string; path: string }[] = [];
  adapter.getInstance().addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) served.push({ method: one.toLowerCase(), path: url });
  });
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: class Root {}, imports: [ServiceKitModule.forRuntime(runtime), IngressModule] },
    adapter,
    { logger: false, abortOnError: false },
  );
  if (options.consoleDirectory !== undefined) app.get(ConsoleBundle).directory = options.consoleDirectory;
  for (const path of HEALTH_PATHS) {
    adapter.getInstance().get(path, async (_request, reply) => {
      const { status, body } = await healthAnswer(health, 'GET', path, { isPublic: true });
      return reply.code(status).send(body);
    });
  }
  await app.listen(0, '127.0.0.1');
  const { port } = adapter.getInstance().server.address() as { port: number };
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    port,
    pings,
    hints,
    served,
    log,
    streams: () => app.get(SessionStreams),
    feed: () => app.get(EventFeed),
    logged: () => lines.join(''),
    take: async (raw) => {
      const next = loadedOf(raw);
      live.take(next, await settingsOf(next));
    },
    close: async () => {
      await app.close();
      await bus.close();
      await log.close();
    },
  };
}

/** Records pings; nothing comes in. */
function unconnectedBus(pings: string[], hints: object[]): ServiceRuntime['bus'] {
  return {
    // The ping of every commit is left out: it would hide the others.
    ping: (subject: string) => subject === TAIL_PING_SUBJECT || pings.push(subject),
    publishHints: async (some: readonly object[]) => void hints.push(...some),
    subscribe: () => () => {},
    request: async () => null,
    close: async () => {},
  } as unknown as ServiceRuntime['bus'];
}

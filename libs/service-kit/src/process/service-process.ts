import 'reflect-metadata';
import { flushCompileCache } from 'node:module';
import type { AddressVariables, Environment } from '@angelia/config';
import { StartupError } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import type { INestMicroservice, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type AdminServer, HEALTH_PATHS, healthAnswer, startAdminServer } from '../health/admin-server.ts';
import type { CheckResult } from '../health/health.ts';
import type { Leader, StartLeader } from '../leading/leader.ts';
import type { Logger } from '../logs/logger.ts';
import { onCollect } from '../metrics/collect.ts';
import { startAtZero } from '../metrics/initial-series.ts';
import { readLeaderMetrics } from '../metrics/leader-metrics.ts';
import { readPools, readProcess, readReadiness, watchEventLoop } from '../metrics/process-metrics.ts';
import { nestLogger } from '../nest/nest-logger.ts';
import { ServiceKitModule, type ServiceRuntime } from '../nest/service-kit.module.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { HandlerErrorFilter } from '../transport/handler-error.filter.ts';
import { connectJetStream, JetStreamStrategy } from '../transport/jetstream.strategy.ts';
import type { PublicHttp, ServiceDefinition } from './run-service.ts';
import { openRuntime, untilLogIsUsable } from './runtime.ts';
import { shutDown } from './shutdown.ts';

export interface ProcessOptions {
  readonly definition: ServiceDefinition;
  readonly module: Type<unknown>;
  /** null: this service leads nothing. */
  readonly startLeader: StartLeader | null;
  readonly environment: Environment;
  readonly config: Config;
  readonly addressVariables: AddressVariables;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly startedAt: number;
}

/** Everything of a service after config and telemetry: up, at work, down. Ends with process.exit. */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const { definition, environment, config, addressVariables, logger, telemetry } = options;
  const signals = listenForSignals(logger);
  const needsBus = definition.http === undefined;
  const runtime = openRuntime({ environment, config, addressVariables, logger, needsBus });
  let startup: CheckResult = { ok: false, reason: 'waits for Postgres' };
  runtime.health.add('startup', () => startup);

  let leader: Leader | null = null;
  startAtZero(config, environment.service);
  watchEventLoop();
  onCollect(readProcess);
  onCollect(() => readPools(runtime.log));
  onCollect(() => readReadiness(runtime.health));
  onCollect(() => readLeaderMetrics(runtime.log, runtime.bus, leader ?? { leading: () => [] }));
  const admin = await openAdmin(runtime);
  const strategy = new JetStreamStrategy({
    bus: runtime.bus,
    service: environment.service,
    ...(definition.concurrency === undefined ? {} : { concurrency: definition.concurrency }),
    onDeadLetter: async (letter) => {
      logger.error(
        { session_id: letter.hint?.stream_id, type: letter.hint?.type, reason: letter.reason },
        'dead letter',
      );
      await runtime.log.deadLetters.record({
        streamId: letter.hint?.stream_id ?? letter.subject,
        version: letter.hint?.version ?? 0,
        handler: environment.service,
        reason: letter.reason,
        payload: letter.hint ?? undefined,
      });
    },
  });
  const app = await openApp(options, runtime, strategy);

  const goingDown = new AbortController();
  const atWork = untilLogIsUsable(runtime, goingDown.signal).then(async (usable) => {
    if (!usable) return;
    await app.takeHints();
    if (goingDown.signal.aborted) return;
    const { log, bus } = runtime;
    leader = options.startLeader?.({ log, bus, config, service: environment.service, logger }) ?? null;
    startup = { ok: true };
    logger.info({ admin_port: admin?.port, port: app.port, ms: Date.now() - options.startedAt }, 'at work');
    // Where there is a compile cache (the local stack): also for one that will be killed, and whoever starts meanwhile.
    flushCompileCache();
  });

  // A start that is refused closes things as a signal does; only the exit code differs.
  const failed = new Promise<unknown>((resolve) => {
    atWork.catch(resolve);
  });
  const failure = await Promise.race([signals.first.then(() => null), failed]);
  if (failure !== null && !(failure instanceof StartupError)) throw failure;
  goingDown.abort();
  await shutDown(
    {
      stopBeingReady: () => runtime.health.drain(),
      stopIntake: async () => {
        await Promise.all([strategy.stopPulling(), app.stopHttp()]);
      },
      closeApp: () => app.close(),
      resign: async () => leader?.resign(),
      closeBus: () => runtime.bus.close(),
      closeLog: () => runtime.log.close(),
      flushTelemetry: () => telemetry.flush(TELEMETRY_FLUSH_MS),
      closeAdmin: async () => admin?.close(),
    },
    runtime.drain,
    { drainSeconds: failure === null ? environment.drainSeconds : 0, hurry: signals.hurry, logger },
  );
  if (failure !== null) throw failure;
  logger.info({}, 'drained and closed');
  process.exit(0);
}

/** Below the limit of the closing step that it runs in. */
const TELEMETRY_FLUSH_MS = 1_800;

/** The first SIGTERM or SIGINT begins the drain, the second ends its patience. */
function listenForSignals(logger: Logger): { readonly first: Promise<void>; readonly hurry: AbortSignal } {
  const hurry = new AbortController();
  let begin: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let seen = 0;
  const onSignal = (signal: string): void => {
    seen += 1;
    logger.info({ signal }, seen === 1 ? 'drains' : 'hurries');
    if (seen === 1) begin();
    else hurry.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return { first, hurry: hurry.signal };
}

async function openAdmin(runtime: ServiceRuntime): Promise<AdminServer | null> {
  const { adminHost, adminPort } = runtime.environment;
  if (adminPort === undefined) return null;
  return listening('ANGELIA_ADMIN_PORT', adminHost, adminPort, () =>
    startAdminServer(runtime.health, adminHost, adminPort),
  );
}

interface App {
  readonly port: number | undefined;
  /** Starts the consumers of the service's @EventPattern handlers. */
  takeHints(): Promise<void>;
  stopHttp(): Promise<void>;
  close(): Promise<void>;
}

async function openApp(
  options: ProcessOptions,
  runtime: ServiceRuntime,
  strategy: JetStreamStrategy,
): Promise<App> {
  const root = { module: ServiceRoot, imports: [ServiceKitModule.forRuntime(runtime), options.module] };
  const logger = nestLogger(runtime.logger);
  const { http } = options.definition;
  if (http !== undefined) return openHttpApp(root, http, runtime, strategy, logger);
  const app: INestMicroservice = await NestFactory.createMicroservice(root, {
    strategy,
    logger,
    abortOnError: false,
  });
  // Before init, which binds filters to handlers.
  app.useGlobalFilters(new HandlerErrorFilter());
  await app.init();
  return {
    port: undefined,
    takeHints: async () => {
      await app.listen();
    },
    stopHttp: async () => {},
    close: () => app.close(),
  };
}

/** Only ingress comes here, and only here Fastify is loaded. */
async function openHttpApp(
  root: { module: Type<unknown>; imports: unknown[] },
  http: PublicHttp,
  runtime: ServiceRuntime,
  strategy: JetStreamStrategy,
  logger: ReturnType<typeof nestLogger>,
): Promise<App> {
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  const { host, port } = runtime.environment;
  const adapter = new FastifyAdapter((await http.options?.(runtime)) ?? {});
  const app = await NestFactory.create<NestFastifyApplication>(
    root as Parameters<typeof NestFactory.create>[0],
    adapter,
    {
      logger,
      abortOnError: false,
      rawBody: false,
    },
  );
  connectJetStream(app, strategy);
  const fastify = adapter.getInstance();
  for (const path of HEALTH_PATHS) {
    fastify.get(path, async (_request, reply) => {
      const { status, body } = await healthAnswer(runtime.health, 'GET', path);
      return reply.code(status).header('cache-control', 'no-store').send(body);
    });
  }
  await http.prepare?.(app, runtime);
  await app.init();
  await listening('ANGELIA_PORT', host, port, () => app.listen(port, host));
  const address = fastify.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    takeHints: async () => {
      await app.startAllMicroservices();
    },
    stopHttp: async () => {
      await fastify.close();
    },
    close: () => app.close(),
  };
}

class ServiceRoot {}

/** A predecessor that still drains gives its port back within a moment; another program does not. */
const PORT_PATIENCE_MS = 5_000;
const PORT_RETRY_MS = 200;

async function listening<T>(
  variable: string,
  host: string,
  port: number,
  listen: () => Promise<T>,
): Promise<T> {
  const giveUpAt = Date.now() + PORT_PATIENCE_MS;
  for (;;) {
    try {
      return await listen();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && Date.now() < giveUpAt) {
        await new Promise((resolve) => setTimeout(resolve, PORT_RETRY_MS));
        continue;
      }
      if (code === 'EADDRINUSE') {
        throw new StartupError([
          `port ${port} (${host}): in use by another program: stop it, or set ${variable}`,
        ]);
      }
      if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
        throw new StartupError([
          `port ${port} (${host}): cannot listen here (${code}): change ${variable} or the host`,
        ]);
      }
      throw error;
    }
  }
}

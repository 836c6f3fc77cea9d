import { flushCompileCache } from 'node:module';
import type { DeadLetter } from '@angelia/bus';
import {
  type Environment,
  outputLimitWarnings,
  publicUrlWarning,
  type RunningConfig,
  StartupError,
  uncheckedCommandWarnings,
} from '@angelia/config';
import { CONFIG_PING_SUBJECT } from '@angelia/contracts';
import type { Type } from '@nestjs/common';
import type { RunningReloads } from '../config/config-reloads.ts';
import { type AdminServer, startAdminServer } from '../health/admin-server.ts';
import type { CheckResult } from '../health/health.ts';
import type { Leader, StartLeader } from '../leading/leader.ts';
import type { Logger } from '../logs/logger.ts';
import { onCollect } from '../metrics/collect.ts';
import { startSeriesAtZero } from '../metrics/initial-series.ts';
import { readLeaderMetrics } from '../metrics/leader-metrics.ts';
import { readPools, readProcess, readReadiness, watchEventLoop } from '../metrics/process-metrics.ts';
import { openApp } from '../nest/open-app.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { JetStreamStrategy } from '../transport/jetstream.strategy.ts';
import { giveBackMemoryAtRest } from './give-back-memory.ts';
import { listenWithRetry } from './listen.ts';
import { announcePresence } from './presence.ts';
import type { ServiceDefinition } from './run-service.ts';
import { openRuntime, type ServiceRuntime, untilLogIsUsable } from './runtime.ts';
import { shutDown } from './shutdown.ts';

export interface ProcessOptions {
  readonly definition: Pick<ServiceDefinition, 'concurrency' | 'http'>;
  readonly module: Type<unknown>;
  /** null: this service leads nothing. */
  readonly startLeader: StartLeader | null;
  readonly environment: Environment;
  readonly config: RunningConfig;
  readonly reloads: RunningReloads;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly startedAt: number;
}

/** The life of a service after config and telemetry: it starts, works, and shuts down. Ends with process.exit. */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const { definition, environment, config, reloads, logger, telemetry } = options;
  const signals = listenForSignals(logger);
  const runtime = openRuntime({ ...options, needsBus: definition.http === undefined });
  let startup: CheckResult = { ok: false, reason: 'waiting for Postgres' };
  runtime.health.add('startup', () => startup);
  let leader: Leader | null = null;
  let presence: { stop(): Promise<void> } | null = null;
  startMetrics(runtime, () => leader);
  giveBackMemoryAtRest();

  const admin = await openAdmin(runtime);
  const strategy = new JetStreamStrategy({
    bus: runtime.bus,
    service: environment.service,
    ...(definition.concurrency === undefined ? {} : { concurrency: definition.concurrency }),
    onDeadLetter: (letter) => recordDeadLetter(runtime, letter),
  });
  const app = await openApp(options.module, definition.http, runtime, strategy);
  followConfig(runtime);

  const goingDown = new AbortController();
  const atWork = untilLogIsUsable(runtime, goingDown.signal).then(async (usable) => {
    if (!usable) return;
    await app.takeHints();
    if (goingDown.signal.aborted) return;
    const { log, bus } = runtime;
    leader = options.startLeader?.({ log, bus, config, service: environment.service, logger }) ?? null;
    presence = announcePresence(runtime);
    startup = { ok: true };
    logger.info({ admin_port: admin?.port, port: app.port, ms: Date.now() - options.startedAt }, 'at work');
    // If there is a compile cache (the local stack), write it now: this process may be killed, and others start meanwhile.
    flushCompileCache();
  });

  // A refused start closes everything as a signal does; only the exit code differs.
  const failed = new Promise<unknown>((resolve) => {
    atWork.catch(resolve);
  });
  const failure = await Promise.race([signals.first.then(() => null), failed]);
  if (failure !== null && !(failure instanceof StartupError)) throw failure;
  goingDown.abort();
  await shutDown(
    {
      stopBeingReady: () => {
        runtime.health.drain();
        reloads.stop();
      },
      stopIntake: async () => {
        await Promise.all([strategy.stopPulling(), app.stopHttp()]);
      },
      closeApp: () => app.close(),
      resign: async () => {
        await Promise.all([leader?.resign(), presence?.stop()]);
      },
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

/** Less than the time limit of the closing step in which it runs. */
const TELEMETRY_FLUSH_MS = 1_800;

/** The first SIGTERM or SIGINT starts the drain. The second cuts it short. */
function listenForSignals(logger: Logger): { readonly first: Promise<void>; readonly hurry: AbortSignal } {
  const hurry = new AbortController();
  const first = Promise.withResolvers<void>();
  let seen = 0;
  const onSignal = (signal: string): void => {
    seen += 1;
    logger.info({ signal }, seen === 1 ? 'draining' : 'second signal: hurrying');
    if (seen === 1) first.resolve();
    else hurry.abort();
  };
  // It asks for a reload (followConfig). Before the service follows its config there is nothing to do: the config is new.
  process.on('SIGHUP', () => {});
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return { first: first.promise, hurry: hurry.signal };
}

/** Takes a new config on SIGHUP, when a file changes, and when somebody asks all services by the API. */
function followConfig({ config, reloads, bus, environment, logger }: ServiceRuntime): void {
  process.on('SIGHUP', () => void reloads.reload('signal'));
  bus.subscribe(CONFIG_PING_SUBJECT, () => void reloads.reload('ping'));
  const { service } = environment;
  config.onTaken((taken) => startSeriesAtZero(taken, service));
  if (service === 'ingress') {
    const warn = () => {
      const warning = publicUrlWarning(config.current, environment);
      if (warning !== null) logger.warn({}, warning);
      for (const line of uncheckedCommandWarnings(config.current)) logger.warn({}, line);
    };
    warn();
    config.onTaken(warn);
  }
  if (service === 'agent-runner') {
    const warn = () => {
      for (const warning of outputLimitWarnings(config.current)) logger.warn({}, warning);
    };
    warn();
    config.onTaken(warn);
  }
  reloads.start();
}

function startMetrics(runtime: ServiceRuntime, leader: () => Leader | null): void {
  startSeriesAtZero(runtime.config.current, runtime.environment.service);
  watchEventLoop();
  onCollect(readProcess);
  onCollect(() => readPools(runtime.log));
  onCollect(() => readReadiness(runtime.health));
  onCollect(() => readLeaderMetrics(runtime.log, runtime.bus, leader()?.leading() ?? []));
}

async function openAdmin(runtime: ServiceRuntime): Promise<AdminServer | null> {
  const { adminHost, adminPort } = runtime.environment;
  if (adminPort === undefined) return null;
  return listenWithRetry('ANGELIA_ADMIN_PORT', adminHost, adminPort, () =>
    startAdminServer(runtime.health, adminHost, adminPort),
  );
}

async function recordDeadLetter(runtime: ServiceRuntime, letter: DeadLetter): Promise<void> {
  const { hint, reason } = letter;
  runtime.logger.error({ session_id: hint?.stream_id, type: hint?.type, reason }, 'dead letter');
  await runtime.log.deadLetters.record({
    streamId: hint?.stream_id ?? letter.subject,
    version: hint?.version ?? 0,
    handler: runtime.environment.service,
    reason,
    payload: hint ?? undefined,
  });
}

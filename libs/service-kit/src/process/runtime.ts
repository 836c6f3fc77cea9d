import { randomBytes } from 'node:crypto';
import { type Bus, connectBus } from '@angelia/bus';
import { type Environment, type RunningConfig, StartupError } from '@angelia/config';
import { type HolderId, holderId } from '@angelia/contracts';
import { type EventLog, LogError, openEventLog } from '@angelia/event-log';
import { Sessions } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import type { RunningReloads } from '../config/config-reloads.ts';
import { type CheckResult, Health } from '../health/health.ts';
import type { Logger } from '../logs/logger.ts';
import { countFlush } from '../metrics/process-metrics.ts';
import { announceCommits } from '../transport/announce-commits.ts';
import { Drain } from './drain.ts';

/** What every service works with. Made once per process, before Nest. */
export interface ServiceRuntime {
  readonly environment: Environment;
  readonly config: RunningConfig;
  readonly reloads: RunningReloads;
  readonly log: EventLog;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly holder: HolderId;
  readonly sessions: Sessions;
  readonly drain: Drain;
  readonly health: Health;
}

interface OpenRuntimeOptions {
  readonly environment: Environment;
  readonly config: RunningConfig;
  readonly reloads: RunningReloads;
  readonly logger: Logger;
  /** False for ingress, which accepts webhooks while NATS is away. */
  readonly needsBus: boolean;
}

/** Opens log and bus. Returns at once, and does not throw if one of them is away: both connect by themselves. */
export function openRuntime(options: OpenRuntimeOptions): ServiceRuntime {
  const { environment, config, reloads, logger } = options;
  const holder = holderId(environment.instance, randomBytes(6).toString('hex'));
  const health = new Health();
  let busState: CheckResult = { ok: false, reason: 'not connected yet' };
  const bus = connectBus({
    url: environment.natsUrl,
    name: environment.instance,
    replicas: config.current.nats.replicas,
    logger,
    onStatus: (status) => {
      busState = status.connected
        ? { ok: true, server: status.serverVersion }
        : { ok: false, reason: status.reason };
    },
  });
  const log = openEventLog({
    url: environment.databaseUrl,
    instance: environment.instance,
    holder,
    logger,
    onCommitted: announceCommits(bus),
    onFlushed: countFlush,
    spans: environment.otlp.traces && environment.traceInternals,
  });
  health.add('postgres', async () => {
    await log.status.ping();
    return { ok: true };
  });
  if (options.needsBus) {
    health.add('nats', async () => {
      if (!busState.ok) return busState;
      const reason = await bus.problem();
      return reason === null ? busState : { ok: false, reason };
    });
  }
  health.add('config', () => reloads.readiness());
  return {
    environment,
    config,
    reloads,
    log,
    bus,
    logger,
    holder,
    sessions: new Sessions({ log, instance: environment.instance }),
    drain: new Drain(),
    health,
  };
}

/** Between two tries to reach a Postgres that is away: short compared to the seconds that its own start takes. */
const RETRY_MS = 500;

/**
 * Resolves to true once the log can be used: Postgres is reachable and migrated, and is the cluster in which the log was
 * written. Waits for ever while Postgres is away; resolves to false if the signal ends the wait.
 * @throws StartupError for what only a person can correct (another cluster, a role without rights)
 */
export async function untilLogIsUsable(runtime: ServiceRuntime, signal: AbortSignal): Promise<boolean> {
  const { log, logger } = runtime;
  let lastCode = '';
  while (!signal.aborted) {
    try {
      for (const warning of await log.status.check()) logger.warn({}, warning);
      return true;
    } catch (error) {
      if (!(error instanceof LogError) || !error.retryable) throw refused(error);
      if (lastCode !== error.code) logger.warn({ err: error }, 'waiting for Postgres');
      lastCode = error.code;
    }
    await pause(RETRY_MS, signal);
  }
  return false;
}

function refused(error: unknown): unknown {
  return error instanceof LogError ? new StartupError([error.message], { cause: error }) : error;
}

import { randomBytes } from 'node:crypto';
import { connectBus } from '@angelia/bus';
import type { AddressVariables, Environment } from '@angelia/config';
import { StartupError } from '@angelia/config';
import { type Config, holderId } from '@angelia/contracts';
import { LogError, openEventLog } from '@angelia/event-log';
import { Sessions } from '@angelia/sessions';
import { type CheckResult, Health } from '../health/health.ts';
import type { Logger } from '../logs/logger.ts';
import { countFlush } from '../metrics/process-metrics.ts';
import type { ServiceRuntime } from '../nest/service-kit.module.ts';
import { relayWaker } from '../transport/wake-relay.ts';
import { Drain } from './drain.ts';

export interface OpenRuntimeOptions {
  readonly environment: Environment;
  readonly config: Config;
  readonly addressVariables: AddressVariables;
  readonly logger: Logger;
  /** False for ingress, which takes webhooks while NATS is away. */
  readonly needsBus: boolean;
}

/** Opens log and bus. Returns at once and never throws because one of them is away: both connect by themselves. */
export function openRuntime(options: OpenRuntimeOptions): ServiceRuntime {
  const { environment, config, addressVariables, logger } = options;
  const holder = holderId(environment.instance, randomBytes(6).toString('hex'));
  const health = new Health();
  let busState: CheckResult = { ok: false, reason: 'not connected yet' };
  const bus = connectBus({
    url: environment.natsUrl,
    name: environment.instance,
    replicas: config.nats.replicas,
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
    onCommitted: relayWaker(bus),
    onFlushed: countFlush,
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
  return {
    environment,
    config,
    addressVariables,
    log,
    bus,
    logger,
    holder,
    sessions: new Sessions({ log, instance: environment.instance }),
    drain: new Drain(),
    health,
  };
}

/** Between two looks at a Postgres that is away: short beside the seconds that its own start takes. */
const LOOK_AGAIN_MS = 500;

/**
 * Resolves once the log can be worked with: reachable, migrated, the cluster it was written in. Waits for ever while
 * Postgres is away; resolves to false when the signal ends the waiting.
 * @throws StartupError for what only a person can mend (another cluster, a role without rights).
 */
export async function untilLogIsUsable(runtime: ServiceRuntime, signal: AbortSignal): Promise<boolean> {
  const { log, logger } = runtime;
  let said = '';
  while (!signal.aborted) {
    try {
      for (const warning of await log.status.check()) logger.warn({}, warning);
      return true;
    } catch (error) {
      if (!(error instanceof LogError) || !error.retryable) throw refused(error);
      if (said !== error.code) logger.warn({ err: error }, 'waits for Postgres');
      said = error.code;
    }
    await pause(LOOK_AGAIN_MS, signal);
  }
  return false;
}

function refused(error: unknown): unknown {
  return error instanceof LogError ? new StartupError([error.message], { cause: error }) : error;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}

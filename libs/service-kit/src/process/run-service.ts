import {
  configSource,
  type Environment,
  EXIT_CONFIG,
  LiveConfig,
  type LoadedConfig,
  readEnvironment,
  type ServiceName,
  StartupError,
  secretsInUrl,
  secretValuesIn,
  startupMessage,
  withCommandEnvFile,
  withEnvFile,
} from '@angelia/config';
import type { Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyServerOptions } from 'fastify';
import { ConfigReloads } from '../config/config-reloads.ts';
import type { ServiceSettings } from '../config/settings.ts';
import { startingConfig } from '../config/starting-config.ts';
import type { StartLeader } from '../leading/leader.ts';
import { KnownSecrets } from '../logs/known-secrets.ts';
import { createLogger, type Logger } from '../logs/logger.ts';
import { startTelemetry } from '../telemetry/telemetry.ts';
import type { ServiceRuntime } from './runtime.ts';

/** What a service's `main.ts` says about it. */
export interface ServiceDefinition<Settings = unknown> {
  readonly name: ServiceName;
  /** Imports the service's Nest module. Called after telemetry has started, so that what it imports is instrumented. */
  readonly load: () => Promise<Type<unknown>>;
  /** Imports what the service makes of a config. Called after telemetry has started, too. */
  readonly settings: () => Promise<ServiceSettings<Settings>>;
  /** Imports the loops that one process leads for all. Absent: this service leads nothing. */
  readonly lead?: () => Promise<StartLeader>;
  /** How many hints of an event type are handled at once: one number for all, or by type (default 64). */
  readonly concurrency?: number | Readonly<Record<string, number>>;
  /** Only ingress has public HTTP, on ANGELIA_HOST and ANGELIA_PORT. The health endpoints are added to it. */
  readonly http?: PublicHttp;
}

export interface PublicHttp {
  /** May import: it is called after telemetry has started. */
  readonly options?: (runtime: ServiceRuntime) => FastifyServerOptions | Promise<FastifyServerOptions>;
  /** Called before the server listens, for body parsers, hooks, and routes that bypass Nest. */
  readonly prepare?: (app: NestFastifyApplication, runtime: ServiceRuntime) => void | Promise<void>;
}

/**
 * Runs a service: reads environment and config, starts logs and telemetry, then hands over to service-process.ts. This file
 * and its imports load neither Fastify nor Nest: telemetry must start first, to instrument what they require.
 */
export async function runService<Settings>(definition: ServiceDefinition<Settings>): Promise<void> {
  const startedAt = Date.now();
  let logger: Logger | undefined;
  try {
    const environment = readEnvironment(definition.name, environmentOf(definition.name));
    const source = configSource(definition.name, process.env);
    const secrets = new KnownSecrets(environmentSecrets(environment));
    const { service, instance, logLevel: level } = environment;
    const log = createLogger({ service, instance, level, secrets });
    logger = log;
    exitOnUnhandledErrors(log);
    const telemetry = await startTelemetry(environment, log, secrets);
    const [{ runProcess }, module, startLeader, settings] = await Promise.all([
      import('./service-process.ts'),
      definition.load(),
      definition.lead?.() ?? null,
      definition.settings(),
    ]);
    const make = (loaded: LoadedConfig, previous: Settings | null) => {
      secrets.add(secretValuesIn(loaded.config));
      return settings.make(loaded, { environment, logger: log, previous });
    };
    const started = await startingConfig(source, (loaded) => make(loaded, null));
    const live = new LiveConfig(started.loaded, started.settings, {
      close: (replaced) => void closeSettings(settings, replaced, log),
    });
    const reloads = new ConfigReloads({
      ...{ source, service, live, started, logger: log },
      make: (loaded) => make(loaded, live.settings),
    });
    log.debug({ config: source.file.demo ? 'demo' : source.file.path }, 'config loaded');
    await runProcess({
      ...{ definition, module, startLeader, environment, config: live, reloads },
      ...{ logger: log, telemetry, startedAt },
    });
  } catch (error) {
    if (error instanceof StartupError) {
      process.stderr.write(startupMessage(error));
      process.exit(EXIT_CONFIG);
    }
    if (logger === undefined) throw error;
    logger.fatal({ err: error }, 'could not start');
    process.exit(1);
  }
}

/** process-watcher gets no secrets of other services, not even from `.env`. */
function environmentOf(service: ServiceName): NodeJS.ProcessEnv {
  const env = service === 'process-watcher' ? withCommandEnvFile(process.env) : withEnvFile(process.env);
  // OpenTelemetry reads its variables itself.
  for (const [name, value] of Object.entries(env)) if (/^OTEL_/.test(name)) process.env[name] ??= value;
  return env;
}

async function closeSettings<Settings>(
  { close }: ServiceSettings<Settings>,
  replaced: Settings,
  logger: Logger,
): Promise<void> {
  try {
    await close?.(replaced);
  } catch (error) {
    logger.warn({ err: error }, 'a replaced config was not closed');
  }
}

function environmentSecrets(environment: Environment): string[] {
  return [
    ...[environment.masterKey, environment.adminToken].filter((secret) => secret !== undefined),
    ...secretsInUrl(environment.databaseUrl),
    ...environment.natsUrl.split(',').flatMap((url) => secretsInUrl(url.trim())),
  ];
}

/** After an unhandled error the state of the process is unknown: log the error, exit, and let the supervisor restart it. */
function exitOnUnhandledErrors(logger: Logger): void {
  const exitAfter = (event: string) => (reason: unknown) => {
    logger.fatal({ err: reason instanceof Error ? reason : new Error(String(reason)) }, event);
    process.exit(1);
  };
  process.on('uncaughtException', exitAfter('uncaught exception'));
  process.on('unhandledRejection', exitAfter('unhandled rejection'));
}

import {
  type Environment,
  EXIT_CONFIG,
  exposedFileProblems,
  type LoadedConfig,
  loadCommandConfig,
  loadConfig,
  readEnvironment,
  type ServiceName,
  StartupError,
  secretsInUrl,
  secretValuesIn,
  startupMessage,
} from '@angelia/config';
import type { Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyServerOptions } from 'fastify';
import type { StartLeader } from '../leading/leader.ts';
import { createLogger, type Logger } from '../logs/logger.ts';
import { startTelemetry } from '../telemetry/telemetry.ts';
import type { ServiceRuntime } from './runtime.ts';

/** What a service's `main.ts` says about it. */
export interface ServiceDefinition {
  readonly name: ServiceName;
  /** Imports the service's Nest module. Called after telemetry has started, so that what it imports is instrumented. */
  readonly load: () => Promise<Type<unknown>>;
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
export async function runService(definition: ServiceDefinition): Promise<void> {
  const startedAt = Date.now();
  let logger: Logger | undefined;
  try {
    const environment = readEnvironment(definition.name, process.env);
    const { config, path, demo, addressVariables } = loadConfigOf(definition.name);
    const secrets = [...secretValuesIn(config), ...environmentSecrets(environment)];
    logger = createLogger({
      service: environment.service,
      instance: environment.instance,
      level: environment.logLevel,
      secrets,
    });
    exitOnUnhandledErrors(logger);
    const telemetry = await startTelemetry(environment, logger, secrets);
    const [{ runProcess }, module, startLeader] = await Promise.all([
      import('./service-process.ts'),
      definition.load(),
      definition.lead?.() ?? null,
    ]);
    logger.debug({ config: demo ? 'demo' : path }, 'config loaded');
    await runProcess({
      ...{ definition, module, startLeader, environment, config, addressVariables },
      ...{ logger, telemetry, startedAt },
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

/** process-watcher reads only what running commands needs: the rest of the config holds secrets. */
function loadConfigOf(service: ServiceName): LoadedConfig {
  if (service !== 'process-watcher') return loadConfig(process.env);
  const loaded = loadCommandConfig(process.env);
  const problems = exposedFileProblems(loaded);
  if (problems.length > 0) throw new StartupError(problems);
  return loaded;
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

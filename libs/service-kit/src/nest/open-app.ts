import 'reflect-metadata';
import type { INestMicroservice, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { HEALTH_PATHS, healthAnswer } from '../health/admin-server.ts';
import { listenWithRetry } from '../process/listen.ts';
import type { PublicHttp } from '../process/run-service.ts';
import type { ServiceRuntime } from '../process/runtime.ts';
import { HandlerErrorFilter } from '../transport/handler-error.filter.ts';
import { connectJetStream, type JetStreamStrategy } from '../transport/jetstream.strategy.ts';
import { nestLogger } from './nest-logger.ts';
import { ServiceKitModule } from './service-kit.module.ts';

interface App {
  /** Of the public HTTP server; undefined: this service has none. */
  readonly port: number | undefined;
  /** Starts the consumers of the service's @EventPattern handlers. */
  takeHints(): Promise<void>;
  stopHttp(): Promise<void>;
  close(): Promise<void>;
}

/** Wires the service's Nest module. An app with public HTTP listens when this returns; no app takes hints yet. */
export async function openApp(
  module: Type<unknown>,
  http: PublicHttp | undefined,
  runtime: ServiceRuntime,
  strategy: JetStreamStrategy,
): Promise<App> {
  const root = { module: ServiceRoot, imports: [ServiceKitModule.forRuntime(runtime), module] };
  if (http !== undefined) return openHttpApp(root, http, runtime, strategy);
  const app: INestMicroservice = await NestFactory.createMicroservice(root, {
    strategy,
    logger: nestLogger(runtime.logger),
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

/** For ingress only. The import keeps Fastify out of the other services. */
async function openHttpApp(
  root: { module: Type<unknown>; imports: unknown[] },
  http: PublicHttp,
  runtime: ServiceRuntime,
  strategy: JetStreamStrategy,
): Promise<App> {
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  const { host, port } = runtime.environment;
  const adapter = new FastifyAdapter((await http.options?.(runtime)) ?? {});
  const app = await NestFactory.create<NestFastifyApplication>(
    root as Parameters<typeof NestFactory.create>[0],
    adapter,
    { logger: nestLogger(runtime.logger), abortOnError: false, rawBody: false },
  );
  connectJetStream(app, strategy);
  const fastify = adapter.getInstance();
  for (const path of HEALTH_PATHS) {
    fastify.get(path, async (_request, reply) => {
      const { status, body } = await healthAnswer(runtime.health, 'GET', path, { isPublic: true });
      return reply.code(status).header('cache-control', 'no-store').send(body);
    });
  }
  await http.prepare?.(app, runtime);
  await app.init();
  await listenWithRetry('ANGELIA_PORT', host, port, () => app.listen(port, host));
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

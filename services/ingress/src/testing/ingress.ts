import 'reflect-metadata';
import { holderId, parseConfig } from '@angelia/contracts';
import { openEventLog } from '@angelia/event-log';
import {
  createLogger,
  Drain,
  Health,
  healthAnswer,
  readEnvironment,
  ServiceKitModule,
  type ServiceRuntime,
  Sessions,
} from '@angelia/service-kit';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { httpServerOptions } from '../http-server.ts';
import { IngressModule } from '../ingress.module.ts';

export const ADMIN_TOKEN = 'test-admin-token-0123';

export interface TestIngress {
  readonly baseUrl: string;
  readonly port: number;
  /** What was sent over core NATS. */
  readonly pings: readonly string[];
  /** Everything that was logged, as text. */
  readonly logged: () => string;
  close(): Promise<void>;
}

/** The whole app of ingress over real HTTP and a real log, without the process around it (signals, duties, NATS). */
export async function startIngress(options: {
  readonly databaseUrl: string;
  readonly config: Record<string, unknown>;
}): Promise<TestIngress> {
  const parsed = parseConfig(options.config);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const environment = readEnvironment('ingress', {
    DATABASE_URL: options.databaseUrl,
    NATS_URL: 'nats://127.0.0.1:1',
    ANGELIA_ADMIN_TOKEN: ADMIN_TOKEN,
    ANGELIA_INSTANCE: 'ingress-test',
  });
  const lines: string[] = [];
  const logger = createLogger({
    service: 'ingress',
    instance: environment.instance,
    level: 'trace',
    destination: { write: (line: string) => lines.push(line) },
  });
  const holder = holderId(environment.instance, 'test');
  const log = openEventLog({ url: options.databaseUrl, instance: environment.instance, holder, logger });
  const pings: string[] = [];
  const health = new Health();
  health.add('postgres', async () => {
    await log.ping();
    return { ok: true };
  });
  const runtime: ServiceRuntime = {
    environment,
    config: parsed.config,
    log,
    bus: { ping: (subject: string) => pings.push(subject) } as unknown as ServiceRuntime['bus'],
    logger,
    holder,
    sessions: new Sessions({ log, instance: environment.instance }),
    drain: new Drain(),
    health,
  };
  const adapter = new FastifyAdapter(httpServerOptions(parsed.config));
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: class Root {}, imports: [ServiceKitModule.forRuntime(runtime), IngressModule] },
    adapter,
    { logger: false, abortOnError: false },
  );
  adapter.getInstance().get('/readyz', async (_request, reply) => {
    const { status, body } = await healthAnswer(health, 'GET', '/readyz');
    return reply.code(status).send(body);
  });
  await app.listen(0, '127.0.0.1');
  const { port } = adapter.getInstance().server.address() as { port: number };
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    port,
    pings,
    logged: () => lines.join(''),
    close: async () => {
      await app.close();
      await log.close();
    },
  };
}

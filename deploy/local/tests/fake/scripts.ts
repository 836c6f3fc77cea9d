import { fileURLToPath } from 'node:url';
import { realScripts, type Scripts } from '../../src/services.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const service = here('service.ts');

/** A stack of stand-ins around a real Postgres and a real NATS. With FAKE_NOT_MIGRATE also the real migration. */
export const fakeScripts: Scripts = {
  checkConfig: here('check-config.ts'),
  migrate: process.env.FAKE_NOT_MIGRATE ? realScripts.migrate : here('migrate.ts'),
  services: { ingress: service, 'agent-runner': service, delivery: service, 'process-watcher': service },
};

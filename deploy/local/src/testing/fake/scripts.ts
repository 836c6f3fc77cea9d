import { fileURLToPath } from 'node:url';
import { realScripts, type Scripts } from '../../stack/services.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const service = here('service.ts');

/** Stand-ins for the services around a real Postgres and NATS. With FAKE_NOT_MIGRATE the migration is real as well. */
export const fakeScripts: Scripts = {
  checkConfig: here('check-config.ts'),
  migrate: process.env.FAKE_NOT_MIGRATE ? realScripts.migrate : here('migrate.ts'),
  services: { ingress: service, 'agent-runner': service, delivery: service, 'process-watcher': service },
};

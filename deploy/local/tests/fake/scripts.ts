import { fileURLToPath } from 'node:url';
import type { Scripts } from '../../src/services.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const service = here('service.ts');

/** A stack of stand-ins around a real Postgres and a real NATS. */
export const fakeScripts: Scripts = {
  checkConfig: here('check-config.ts'),
  migrate: here('migrate.ts'),
  services: { ingress: service, 'agent-runner': service, delivery: service, 'process-watcher': service },
};

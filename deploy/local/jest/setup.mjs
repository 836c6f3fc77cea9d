// One Postgres and one NATS for all int and e2e tests of a run. Test files make databases and streams of their own in
// them; see libs/testkit.

import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTestServices } from '../src/test-services.ts';

export default async function setup() {
  const services = await startTestServices();
  globalThis.angeliaTestServices = services;
  process.env.ANGELIA_TEST_PG = services.postgresUrl;
  process.env.ANGELIA_TEST_NATS = services.natsUrl;
  // Tests that break a server of their own start `nats-server` by its name, which here may be the launcher's own copy only.
  const ownCopy = fileURLToPath(new URL('../../../.cache/nats', import.meta.url));
  process.env.PATH = [process.env.PATH, ownCopy].join(delimiter);
}

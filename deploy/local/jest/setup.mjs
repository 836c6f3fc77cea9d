// One Postgres and one NATS for all int and e2e tests of a run. Test files make databases and streams of their own in
// them; see libs/testkit.

import { delimiter, dirname } from 'node:path';
import { findNatsServer } from '../src/nats-server.ts';
import { startTestServices } from '../src/test-services.ts';

export default async function setup() {
  const services = await startTestServices();
  globalThis.angeliaTestServices = services;
  process.env.ANGELIA_TEST_PG = services.postgresUrl;
  process.env.ANGELIA_TEST_NATS = services.natsUrl;
  // Tests that break a server start one of their own, by name: also where only the launcher's copy is there.
  process.env.PATH = [process.env.PATH, dirname(await findNatsServer())].join(delimiter);
}

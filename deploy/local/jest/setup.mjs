// One Postgres and one NATS for all int and e2e tests of a run. Test files make databases and streams of their own in
// them; see libs/testkit.

import { findNatsServer } from '../src/nats-server.ts';
import { startTestServices } from '../src/test-services.ts';

export default async function setup() {
  const services = await startTestServices();
  globalThis.angeliaTestServices = services;
  process.env.ANGELIA_TEST_PG = services.postgresUrl;
  process.env.ANGELIA_TEST_NATS = services.natsUrl;
  process.env.ANGELIA_TEST_NATS_SERVER = await findNatsServer();
}

// One Postgres and one NATS for all int and e2e tests of a run. Test files make databases and streams of their own in
// them; see libs/testkit.

import { delimiter, dirname } from 'node:path';
import { findBubblewrap, findNatsServer } from '../src/packaged-programs.ts';
import { startTestServices } from '../src/test-services.ts';

export default async function setup() {
  const services = await startTestServices();
  globalThis.angeliaTestServices = services;
  process.env.ANGELIA_TEST_PG = services.postgresUrl;
  process.env.ANGELIA_TEST_NATS = services.natsUrl;
  process.env.ANGELIA_TEST_NATS_SERVER = await findNatsServer();
  // Tests of how commands are isolated without root need it, and pass it over where it cannot be had.
  const bubblewrap = await findBubblewrap();
  if (bubblewrap !== null) process.env.PATH += `${delimiter}${dirname(bubblewrap)}`;
}

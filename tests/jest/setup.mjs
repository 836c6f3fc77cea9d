// One Postgres and one NATS for all int and e2e tests of a run. Test files create their own databases and streams in them, and
// stacks start from a copy of a migrated cluster; see libs/testkit.

import { delimiter, dirname } from 'node:path';
import { migrate } from '@angelia/event-log/admin';
import { createTemplateDatabase } from '@angelia/event-log/testing';
import { findBubblewrap, findNatsServer, startTestServices } from '@angelia/local';

export default async function setup() {
  const services = await startTestServices(migrate);
  globalThis.angeliaTestServices = services;
  process.env.ANGELIA_TEST_PG = services.postgresUrl;
  process.env.ANGELIA_TEST_TEMPLATE = await createTemplateDatabase(services.postgresUrl);
  process.env.ANGELIA_TEST_CLUSTER = services.preparedCluster;
  process.env.ANGELIA_TEST_NATS = services.natsUrl;
  process.env.ANGELIA_TEST_NATS_SERVER = await findNatsServer();
  // Tests of isolation without root need it. They are skipped where it is not available.
  const bubblewrap = await findBubblewrap();
  if (bubblewrap !== null) process.env.PATH += `${delimiter}${dirname(bubblewrap)}`;
}

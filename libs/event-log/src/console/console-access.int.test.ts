import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';

let database: TestDatabase;
let replicas: [EventLog, EventLog];

beforeAll(async () => {
  database = await createTestDatabase();
  const open = (name: string) => openEventLog({ url: database.url, instance: name, holder: `${name}#1` });
  replicas = [open('ingress'), open('ingress-2')];
});

afterAll(async () => {
  await Promise.all(replicas.map((log) => log.close()));
  await database?.drop();
});

describe('a link', () => {
  it('that two replicas take at the same time opens one session', async () => {
    for (let round = 0; round < 10; round += 1) {
      const link = randomUUID();
      await replicas[0].consoleAccess.addLink(link, 'raced', 600);
      const taken = await Promise.all(
        [...replicas, ...replicas].map((log) => log.consoleAccess.takeLink(link, randomUUID(), 60)),
      );
      expect(taken.filter((session) => session !== null)).toEqual([
        { actor: 'raced', expiresAt: expect.any(Number) },
      ]);
    }
    expect(await database.query("SELECT FROM angelia.console_sessions WHERE actor = 'raced'")).toHaveLength(
      10,
    );
  });

  it('opens nothing once its time is up, and a link that never was opens nothing', async () => {
    const { consoleAccess } = replicas[0];
    const link = randomUUID();
    const session = randomUUID();
    await consoleAccess.addLink(link, 'console', 0);
    expect(await consoleAccess.takeLink(link, session, 60)).toBeNull();
    expect(await consoleAccess.takeLink(randomUUID(), session, 60)).toBeNull();
    expect(await consoleAccess.find(session)).toBeNull();
  });
});

describe('a session', () => {
  it('is found by every replica until it is revoked or its time is up, each by its own digest', async () => {
    const [first, second] = replicas;
    const [open, revoked, old] = [randomUUID(), randomUUID(), randomUUID()];
    await first.consoleAccess.open(open, 'a', 60);
    await first.consoleAccess.open(revoked, 'b', 60);
    await first.consoleAccess.open(old, 'c', 0);
    expect(await second.consoleAccess.find(revoked)).toMatchObject({ actor: 'b' });
    await first.consoleAccess.revoke(revoked);
    // In one batch.
    const found = await Promise.all(
      [revoked, open, old, randomUUID()].map((digest) => second.consoleAccess.find(digest)),
    );
    expect(found).toEqual([null, { actor: 'a', expiresAt: expect.any(Number) }, null, null]);
  });
});

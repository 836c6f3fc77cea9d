import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pruneSessions } from '../admin/prune.ts';
import { type EventLog, openEventLog } from '../event-log.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import type { SendLimit, SendReservation } from './send-rates.ts';

let database: TestDatabase;
let one: EventLog;
let two: EventLog;

beforeAll(async () => {
  database = await createTestDatabase();
  one = openEventLog({ url: database.url, instance: 'one', holder: 'one#1' });
  two = openEventLog({ url: database.url, instance: 'two', holder: 'two#1' });
});
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  await database.drop();
});

const LONG_MS = 60_000;
/** The time between two statements on a busy machine. */
const SLACK_MS = 5_000;
const chat = (name = `chat ${randomUUID()}`, sends = 1, seconds = 10): SendLimit => ({
  name,
  rate: { sends, seconds },
});
const waits = (turns: readonly SendReservation[]) => turns.map(({ waitMs }) => waitMs).sort((a, b) => a - b);

describe('turns to send', () => {
  it('follow each other over all replicas', async () => {
    const at = [chat()];
    const turns = await Promise.all(
      Array.from({ length: 6 }, (_, n) => (n % 2 ? one : two).sendRates.take(at, LONG_MS)),
    );
    expect(turns.every(({ taken }) => taken)).toBe(true);
    for (const [n, waitMs] of waits(turns).entries()) {
      expect(waitMs).toBeLessThanOrEqual(n * 10_000);
      expect(waitMs).toBeGreaterThan(n * 10_000 - SLACK_MS);
    }
  });

  it('allow a burst of the whole rate, and no more in any period', async () => {
    const at = [chat(undefined, 3, 10)];
    const turns: SendReservation[] = [];
    for (let n = 0; n < 7; n += 1) turns.push(await (n % 2 ? one : two).sendRates.take(at, LONG_MS));
    const rounds = waits(turns).map((waitMs) => Math.round(waitMs / 10_000));
    expect(rounds).toEqual([0, 0, 0, 1, 1, 1, 2]);
  });

  it('that are too far ahead are not reserved, and say what causes the wait', async () => {
    const [mine, all] = [chat(), chat(undefined, 100, 1)];
    await one.sendRates.take([mine, all], LONG_MS);
    const refused = await two.sendRates.take([mine, all], 1_000);
    expect(refused).toMatchObject({ taken: false, heldBy: 0 });
    // If it had been reserved, this would be the one after it.
    const next = await two.sendRates.take([mine, all], LONG_MS);
    expect(next.taken).toBe(true);
    expect(next.waitMs).toBeLessThanOrEqual(10_000);
    // It does not hold back another chat.
    expect(await one.sendRates.take([chat(), all], 0)).toMatchObject({ taken: true, waitMs: 0 });
  });

  it('also wait for the rate of all chats', async () => {
    const all = chat(undefined, 2, 10);
    for (const log of [one, two]) {
      expect(await log.sendRates.take([chat(), all], LONG_MS)).toMatchObject({ waitMs: 0 });
    }
    const third = await one.sendRates.take([chat(), all], LONG_MS);
    expect(third.heldBy).toBe(1);
    expect(third.waitMs).toBeGreaterThan(10_000 - SLACK_MS);
  });

  it('wait out a pause that another replica was asked for, also without a rate', async () => {
    const unlimited = { name: `chat ${randomUUID()}` };
    await one.sendRates.pause(unlimited.name, 30);
    await one.sendRates.pause(unlimited.name, 5);
    const turn = await two.sendRates.take([unlimited], 1_000);
    expect(turn).toMatchObject({ taken: false, heldBy: 0 });
    expect(turn.waitMs).toBeGreaterThan(30_000 - SLACK_MS);
  });

  it('are forgotten when sessions are pruned, if they are old', async () => {
    const [old, young] = [chat(), chat()];
    await one.sendRates.take([old], LONG_MS);
    await one.sendRates.take([young], LONG_MS);
    await database.query(
      `UPDATE angelia.send_turns SET sends = ARRAY[now() - interval '2 hours'] WHERE name = '${old.name}'`,
    );
    await pruneSessions({ log: one, olderThanDays: 1 });
    const left = JSON.stringify(await database.query('SELECT name FROM angelia.send_turns'));
    expect(left).not.toContain(old.name);
    expect(left).toContain(young.name);
  });
});

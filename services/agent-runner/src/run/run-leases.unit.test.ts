import { describe, expect, it } from '@jest/globals';
import { type LeaseLoss, RunLeases } from './run-leases.ts';

/** A lease of 20 s, checked every 2.5 s of a clock that the test moves. */
function leases(renew: (resources: readonly string[]) => Promise<readonly string[]>) {
  const clock = { now: 0 };
  const logger = { warn: () => {} };
  const held = new RunLeases({ renew, seconds: 20, logger: logger as never, now: () => clock.now });
  const lost: LeaseLoss[] = [];
  const lease = held.hold('run:1', 0, (loss) => lost.push(loss));
  const pass = async (seconds: number) => {
    for (let gone = 0; gone < seconds; gone += 2.5) {
      clock.now += 2_500;
      held.check();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, held, lease, lost, pass };
}

describe('leases of runs', () => {
  it('are renewed in one statement for all while the runs go on', async () => {
    const asked: (readonly string[])[] = [];
    const { held, lease, lost, pass } = leases(async (resources) => {
      asked.push(resources);
      return resources;
    });
    held.hold('run:2', 0, () => {});
    await pass(120);
    expect(lease.alive).toBe(true);
    expect(lost).toEqual([]);
    expect(asked.every((resources) => resources.length === 2)).toBe(true);
    expect(asked.length).toBe(24);
  });

  it('are given up before they expire when they cannot be renewed', async () => {
    const { clock, lease, lost, pass } = leases(() => Promise.reject(new Error('Postgres is away')));
    await pass(12.5);
    expect(lost).toEqual([]);
    await pass(5);
    expect(lost).toEqual(['not_renewed']);
    expect(clock.now).toBeLessThan(20_000);
    expect(lease.alive).toBe(false);
  });

  it('are given up when the renewal hangs', async () => {
    const { lost, pass } = leases(() => new Promise(() => {}));
    await pass(17.5);
    expect(lost).toEqual(['not_renewed']);
  });

  it('are known to be lost right after a freeze, before any timer has run', () => {
    const { clock, lease } = leases(async (resources) => resources);
    clock.now = 60_000;
    expect(lease.alive).toBe(false);
  });

  it('are given up at once when the database says that another runner has them', async () => {
    const { lost, pass } = leases(async () => []);
    await pass(5);
    expect(lost).toEqual(['taken']);
  });

  it('are neither renewed nor lost after they were dropped', async () => {
    const asked: (readonly string[])[] = [];
    const { lease, lost, pass } = leases(async (resources) => {
      asked.push(resources);
      return [];
    });
    lease.drop();
    await pass(60);
    expect(asked).toEqual([]);
    expect(lost).toEqual([]);
  });
});

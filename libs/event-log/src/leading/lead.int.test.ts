import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { eventually } from '@angelia/testkit';
import { pause, untilTick } from '@angelia/waiting';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type EventLog, openEventLog } from '../event-log.ts';
import { Checkpoint } from '../tail/checkpoint.ts';
import { startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { appendTo, someEvent } from '../testing/some-events.ts';
import { createTestDatabase, type TestDatabase } from '../testing/test-database.ts';
import { lead } from './lead.ts';

let database: TestDatabase;
let log: EventLog;
let children: ChildProcess[];

beforeEach(async () => {
  children = [];
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await log.close();
  await database.drop();
});

const script = fileURLToPath(new URL('../testing/leader-process.ts', import.meta.url));

interface Candidate {
  readonly child: ChildProcess;
  said(): string[];
}

function candidate(holder: string, seconds = 2): Candidate {
  const child = spawn(process.execPath, ['--no-warnings', script, database.url, holder, String(seconds)], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let out = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  return { child, said: () => out.trim().split('\n').filter(Boolean) };
}

const leads = (one: Candidate) => one.said().find((line) => line.startsWith('leading'));

/** Sessions that go on as long as the work does. At the end the views are compared with the log. */
function load(): { stop(): Promise<void> } {
  let running = true;
  const write = async () => {
    while (running) {
      const session = randomUUID();
      for (let version = 0; version < 6 && running; version += 1) {
        const result = await log.append(appendTo(session, version, [someEvent('test.happened')]));
        expect(result.status).toBe('appended');
        await pause(3);
      }
    }
  };
  const writers = Promise.all(Array.from({ length: 8 }, write));
  return {
    stop: async () => {
      running = false;
      await writers;
    },
  };
}

/** Nothing missed, nothing twice, nothing out of order. */
async function expectViewsToMatchTheLog(): Promise<void> {
  await eventually(async () => {
    const behind = await database.query(
      `SELECT e.stream_id FROM (SELECT stream_id, max(version) AS head FROM angelia.events GROUP BY 1) e
       LEFT JOIN angelia.sessions s ON s.session_id = e.stream_id WHERE s.version IS DISTINCT FROM e.head`,
    );
    return behind.length === 0;
  });
  const rows = await database.query<{ version: number; state: { seen: number[] } }>(
    'SELECT version, state FROM angelia.sessions',
  );
  expect(rows.length).toBeGreaterThan(10);
  for (const { version, state } of rows)
    expect(state.seen).toEqual(Array.from({ length: version }, (_, n) => n + 1));
}

describe('the leader under load', () => {
  it('killed with -9 is replaced by another, and the views miss nothing', async () => {
    const first = candidate('first#1');
    await eventually(() => leads(first));
    const second = candidate('second#1');
    const work = load();
    await eventually(async () => (await log.lists.sessions({ limit: 100 })).items.length > 20);
    first.child.kill('SIGKILL');
    await eventually(() => leads(second));
    await work.stop();
    await expectViewsToMatchTheLog();
  });

  it('frozen is replaced by another, and changes nothing after it is thawed', async () => {
    const first = candidate('first#1');
    await eventually(() => leads(first));
    const second = candidate('second#1');
    const work = load();
    await eventually(async () => (await log.lists.sessions({ limit: 100 })).items.length > 20);
    first.child.kill('SIGSTOP');
    await eventually(() => leads(second));
    const epoch = Number(leads(second)?.split(' ')[1]);
    await eventually(async () => {
      const claimed = await database.query('SELECT name FROM angelia.checkpoints WHERE lead_epoch = $1', [
        epoch,
      ]);
      return claimed.length === 2;
    });
    first.child.kill('SIGCONT');
    await eventually(() => first.said().some((line) => line.startsWith('ended')));
    await work.stop();
    await expectViewsToMatchTheLog();
    const checkpoints = await database.query<{ lead_epoch: string }>(
      'SELECT lead_epoch FROM angelia.checkpoints',
    );
    // On a busy machine the second may be too slow to keep its lead, and either of them leads anew: under a later epoch.
    expect(checkpoints).toHaveLength(2);
    for (const { lead_epoch } of checkpoints) expect(Number(lead_epoch)).toBeGreaterThanOrEqual(epoch);
  });

  it('that stops gives the lead back: another has it long before it would expire', async () => {
    const first = candidate('first#1', 120);
    await eventually(() => leads(first));
    const second = candidate('second#1', 120);
    first.child.kill('SIGTERM');
    expect(await eventually(() => leads(second))).toMatch(/^leading/);
    expect(first.said().at(-1)).toMatch(/^ended/);
  });
});

describe('leading', () => {
  const nothing = (_: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

  it('that stops while it is being renewed does not take the lead back', async () => {
    const count = 20;
    const names = Array.from({ length: count }, (_, n) => `lead-${n}`);
    const all = names.map((name) =>
      lead({ log, name, holder: 'test#1', seconds: 60, onLead: (_, signal) => pause(3_600_000, signal) }),
    );
    await eventually(() => all.every((one) => one.isLeading()));
    // Leads are renewed at the ticks of a second.
    await pause(untilTick(1_000));
    await Promise.all(all.map((one) => one.stop()));
    // Behind the renewals, which nobody waits for any more.
    await pause(100);
    const held = await database.query<{ name: string }>(
      "SELECT name FROM angelia.leaders WHERE name LIKE 'lead-%' AND expires_at > clock_timestamp()",
    );
    expect(held).toEqual([]);
  });

  it('is for one process at a time, and a restart under the same stable name does not wait for its predecessor', async () => {
    const epochs: number[] = [];
    const options = { log, name: 'one', seconds: 60 };
    const onLead = (epoch: number, signal: AbortSignal) => {
      epochs.push(epoch);
      return nothing(epoch, signal);
    };
    const dead = lead({ ...options, holder: 'runner#1', onLead });
    await eventually(() => dead.isLeading());
    const other = lead({ ...options, holder: 'other#1', onLead });
    const restarted = lead({ ...options, holder: 'runner#2', onLead });
    await eventually(() => restarted.isLeading());
    await eventually(() => !dead.isLeading()); // Its next renewal finds the new epoch.
    expect(other.isLeading()).toBe(false);
    expect(epochs).toHaveLength(2);
    expect(epochs[1]).toBeGreaterThan(epochs[0] as number);
    await Promise.all([other.stop(), dead.stop(), restarted.stop()]);
  });

  it('that cannot be renewed aborts the work before it can expire', async () => {
    const proxy = await startCuttableProxy(database.url);
    const cutOff = openEventLog({ url: proxy.url, instance: 'cut', holder: 'cut#1' });
    // The work is aborted a second before this.
    const seconds = 5;
    const aborted = Promise.withResolvers<{ expired: boolean } | undefined>();
    const leading = lead({
      log: cutOff,
      name: 'cut',
      holder: 'cut#1',
      seconds,
      onLead: async (epoch, signal) => {
        await nothing(epoch, signal);
        const [row] = await database.query<{ expired: boolean }>(
          'SELECT expires_at < clock_timestamp() AS expired FROM angelia.leaders',
        );
        aborted.resolve(row);
      },
    });
    await eventually(() => leading.isLeading());
    proxy.freeze();
    expect(await aborted.promise).toEqual({ expired: false });
    proxy.thaw();
    await leading.stop();
    await cutOff.close();
    await proxy.close();
  });

  it('whose work throws is given back and taken again', async () => {
    let calls = 0;
    const leading = lead({
      log,
      name: 'throws',
      holder: 'test#1',
      seconds: 1,
      onLead: async (epoch, signal) => {
        calls += 1;
        if (calls === 1) throw new Error('once');
        await nothing(epoch, signal);
      },
    });
    await eventually(() => calls === 2 && leading.isLeading());
    await leading.stop();
  });
});

it('a checkpoint accepts only writes of its current epoch', async () => {
  const checkpoint = (leadEpoch: number) => new Checkpoint(log.database.relaxed, 'relay', leadEpoch);
  const to = { epoch: 1, tx: '10', position: 10 };
  expect(await checkpoint(7).claim()).toEqual({ epoch: 0, tx: '0', position: 0 });
  expect(await checkpoint(7).moveTo(to)).toBe(true);
  expect(await checkpoint(8).claim()).toEqual(to);
  expect(await checkpoint(7).moveTo({ ...to, position: 99 })).toBe(false);
  expect(await checkpoint(7).claim()).toBeNull();
  expect(await checkpoint(8).claim()).toEqual(to);
});

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cancelSubject, erasedSubject, type JobAction, sessionId } from '@angelia/contracts';
import { type AppendRequest, type EventLog, LogUnavailable, openEventLog } from '@angelia/event-log';
import { eventually } from '@angelia/testkit';
import { WakeUp } from '@angelia/waiting';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JobFilter } from './filter.ts';
import { isOpen, type Job } from './job.ts';
import { Jobs } from './jobs.ts';
import { runJobs } from './run-jobs.ts';
import { openWorld, type World } from './testing/world.ts';

let world: World;
let jobs: Jobs;
const logs: EventLog[] = [];
const leaders: { stop: () => Promise<void> }[] = [];

beforeEach(async () => {
  world = await openWorld();
  jobs = new Jobs(world.log, { ping: () => {} });
});
afterEach(async () => {
  await Promise.all(leaders.splice(0).map(({ stop }) => stop()));
  await Promise.all(logs.splice(0).map((log) => log.close()));
  await world.close();
});

async function request(action: JobAction, filter: JobFilter = {}): Promise<string> {
  await world.viewsUpToDate();
  const preview = await jobs.preview({ action, filter }, 10);
  return jobs.request({ action, filter }, preview, { actor: 'api' });
}

function openLog(): EventLog {
  const log = openEventLog({ url: world.database.url, instance: 'leader', holder: `leader#${logs.length}` });
  logs.push(log);
  return log;
}

/** Leads until the test is over, or until `stop`. */
function startLeader(log = openLog(), itemsPerSecond = 10_000) {
  const stopping = new AbortController();
  const running = runJobs({
    ...world.toolsOn(log),
    signal: stopping.signal,
    wake: new WakeUp(),
    itemsPerSecond,
  });
  const leader = {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
  leaders.push(leader);
  return leader;
}

async function finished(id: string): Promise<Job> {
  return eventually(async () => {
    const job = await jobs.load(id);
    return job !== null && !isOpen(job) ? job : null;
  });
}

async function run(action: JobAction, filter: JobFilter = {}): Promise<Job> {
  const id = await request(action, filter);
  const leader = startLeader();
  const job = await finished(id);
  await leader.stop();
  return job;
}

const stateOf = async (id: string) => (await world.sessions.load(sessionId(id))).state;
const eventsOf = async (id: string, type: string) =>
  (await world.sessions.load(sessionId(id))).events.filter((event) => event.type === type);
const many = <T>(count: number, make: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)));
const continuationsOf = async (id: string) =>
  (
    await world.database.query<{ stream_id: string }>(
      `SELECT stream_id FROM angelia.events WHERE type = 'session.created' AND data ->> 'continues' = $1`,
      [id],
    )
  ).map((row) => row.stream_id);

describe('each action', () => {
  it('cancel ends open sessions that fit, and no others', async () => {
    const wanted = await many(4, () => world.queued({ route: 'a' }));
    const [other, ended] = [await world.queued({ route: 'b' }), await world.succeeded({ route: 'a' })];
    const job = await run('cancel', { route: 'a' });
    expect(job).toMatchObject({ status: 'finished', matches: 4, matchesExact: true, requestedBy: 'api' });
    expect(job.progress).toEqual({ done: 4, skipped: 0, failed: 0, skips: {}, failures: [] });
    for (const id of wanted) {
      expect((await stateOf(id)).ended).toMatchObject({
        outcome: 'cancelled',
        detail: `cancelled by job ${job.id}`,
      });
      const [end] = await eventsOf(id, 'session.ended');
      expect(end?.meta).toMatchObject({ actor: 'api', causation: job.id });
    }
    expect((await stateOf(other)).ended).toBeNull();
    expect((await stateOf(ended)).ended?.outcome).toBe('succeeded');
    expect(world.pings.sort()).toEqual(wanted.map(cancelSubject).sort());
  });

  it('resume continues failed sessions once, whatever number of jobs asks for it', async () => {
    const wanted = await many(3, () => world.failed());
    await world.succeeded();
    const first = await run('resume');
    expect(first.matches).toBe(3);
    expect(first.progress).toMatchObject({ done: 3, skipped: 0 });
    for (const id of wanted) {
      const [continuation = '', ...more] = await continuationsOf(id);
      expect(more).toEqual([]);
      expect((await stateOf(continuation)).created).toMatchObject({ continues: id, origin: 'resume' });
      const [created] = await eventsOf(continuation, 'session.created');
      expect(created?.meta).toMatchObject({ actor: 'api', causation: first.id });
    }
    const second = await run('resume', { outcome: 'failed' });
    expect(second.progress).toMatchObject({ done: 0, skipped: 3, skips: { continued_before: 3 } });
    for (const id of wanted) expect(await continuationsOf(id)).toHaveLength(1);
  });

  it('resume of another outcome leaves out sessions without an agent', async () => {
    await world.queued({ deliverOnly: true, route: 'relay' });
    const job = await run('resume', { outcome: 'succeeded', route: 'relay' });
    expect(job.progress).toMatchObject({ done: 0, skips: { deliver_only: 1 } });
  });

  it('retry-deliveries sends dead deliveries again', async () => {
    const wanted = await many(3, () => world.undelivered({ route: 'a' }));
    const other = await world.undelivered({ route: 'b' });
    await world.succeeded({ route: 'a' });
    const job = await run('retry-deliveries', { route: 'a' });
    expect([job.matches, job.progress.done]).toEqual([3, 3]);
    for (const id of wanted) {
      const [retried] = await eventsOf(id, 'delivery.retry-requested');
      expect(retried).toMatchObject({
        data: { by: `job ${job.id}` },
        meta: { actor: 'api', causation: job.id },
      });
    }
    expect(await eventsOf(other, 'delivery.retry-requested')).toEqual([]);
  });

  it('replay-dead-letters sends their hints again, and leaves what is no hint', async () => {
    const id = await world.queued();
    const { deadLetters } = world.log;
    const hint = { stream_id: id, version: 1, type: 'session.created' };
    await deadLetters.record({
      streamId: id,
      version: 1,
      handler: 'agent-runner',
      reason: 'r',
      payload: hint,
    });
    await deadLetters.record({ streamId: id, version: 2, handler: 'projection', reason: 'r' });
    await deadLetters.record({
      streamId: 'x',
      version: 0,
      handler: 'delivery',
      reason: 'r',
      payload: 'junk',
    });
    const job = await run('replay-dead-letters');
    expect(job.progress).toMatchObject({ done: 2, skipped: 1, skips: { no_hint: 1 } });
    expect(world.hints).toEqual([{ ...hint, messageId: expect.any(String) }]);
    const left = await eventually(async () => {
      const letters = await deadLetters.list({ limit: 10 });
      return letters.length === 1 ? letters : null;
    });
    expect(left).toMatchObject([{ handler: 'delivery' }]);
  });

  it('erase removes settled sessions that fit, and nothing of the others', async () => {
    const wanted = await many(3, () => world.succeeded({ agent: 'gone' }));
    const [open, other] = [await world.queued({ agent: 'gone' }), await world.succeeded()];
    const job = await run('erase', { agent: 'gone' });
    expect([job.matches, job.progress.done]).toEqual([3, 3]);
    for (const id of wanted) expect((await stateOf(id)).created).toBeNull();
    for (const id of [open, other]) expect((await stateOf(id)).created).not.toBeNull();
    expect(world.pings.sort()).toEqual(wanted.map(erasedSubject).sort());
  });
});

describe('a job', () => {
  it('leaves out what came after its request', async () => {
    const before = await many(2, () => world.queued());
    const running = await world.queued({ route: 'late' });
    const cancelling = await request('cancel', { route: 'r' });
    const resuming = await request('resume', { since: '1970-01-01T00:00:00Z' });
    const late = await world.queued();
    // It was there, and failed only now.
    await world.does(running, (state) => ({
      type: 'start-run',
      generation: state.generation + 1,
      turn: 1,
      runner: 'x',
      resumed: false,
      attempt: 1,
      takeover: false,
    }));
    await world.does(running, ({ generation }) => ({
      type: 'fail-run',
      generation,
      code: 'timeout',
      message: 'm',
      text: 't',
    }));
    await world.viewsUpToDate();
    startLeader();
    expect((await finished(cancelling)).progress.done).toBe(2);
    expect((await finished(resuming)).progress.done).toBe(0);
    for (const id of before) expect((await stateOf(id)).ended?.outcome).toBe('cancelled');
    expect((await stateOf(late)).ended).toBeNull();
    expect(await continuationsOf(running)).toEqual([]);
  });

  it('goes through many batches, in order', async () => {
    const ids = await many(60, () => world.queued());
    const job = await run('cancel', { route: 'r' });
    expect(job.progress.done).toBe(60);
    const batches = (await world.log.streams.read(`job-${job.id}`))
      .filter(({ type }) => type === 'job.progressed')
      .map(({ data }) => (data as { batch: string[] }).batch);
    expect(batches.map((batch) => batch.length)).toEqual([25, 25, 10]);
    expect(batches.flat()).toEqual(ids.toSorted());
  });

  it('that is cancelled stops before its next batch, and says what it did', async () => {
    await many(60, () => world.queued());
    const id = await request('cancel', { route: 'r' });
    // Slow enough that the request comes in the first batch: 25 items take more than a second.
    startLeader(openLog(), 20);
    await eventually(async () => (await jobs.load(id))?.status === 'running');
    expect(await jobs.cancel(id, 'api')).toMatchObject({ status: 'cancelling' });
    const job = await finished(id);
    expect(job).toMatchObject({ status: 'cancelled', progress: { done: 25 } });
    const ended = await world.database.query("SELECT FROM angelia.events WHERE type = 'session.ended'");
    expect(ended).toHaveLength(25);
    // A repeat changes nothing.
    expect(await jobs.cancel(id, 'api')).toMatchObject({ status: 'cancelled', version: job.version });
  });

  it('that is cancelled before it begins does nothing', async () => {
    const session = await world.queued();
    const id = await request('cancel', { route: 'r' });
    await jobs.cancel(id, 'api');
    startLeader();
    expect(await finished(id)).toMatchObject({ status: 'cancelled', progress: { done: 0 } });
    expect((await stateOf(session)).ended).toBeNull();
  });

  it('that resumes waits while many sessions wait for a runner, and can be cancelled meanwhile', async () => {
    await many(3, () => world.failed());
    const waiting = await many(30, () => world.queued({ route: 'busy' }));
    const first = await request('resume');
    const second = await request('resume');
    startLeader();
    // The second cannot begin before the first is over.
    await jobs.cancel(first, 'api');
    expect(await finished(first)).toMatchObject({ status: 'cancelled', progress: { done: 0 } });
    for (const id of waiting) await world.does(id, () => ({ type: 'cancel', by: 'test' }));
    expect((await finished(second)).progress.done).toBe(3);
  });

  it('waits for Postgres, and goes on without counting anything as failed', async () => {
    await many(5, () => world.queued());
    const id = await request('cancel', { route: 'r' });
    const log = openLog();
    let outages = 6;
    const append = log.append.bind(log);
    log.append = async (given) => {
      outages -= 1;
      if (outages >= 0 && outages % 2 === 0) throw new LogUnavailable('away');
      return append(given);
    };
    startLeader(log);
    expect((await finished(id)).progress).toMatchObject({ done: 5, failed: 0 });
    expect(outages).toBeLessThan(0);
  });

  it('counts an item that cannot be done, and goes on with the others', async () => {
    const [bad = '', ...good] = await many(4, () => world.queued());
    const id = await request('cancel', { route: 'r' });
    const log = openLog();
    const append = log.append.bind(log);
    log.append = async (given) => {
      if (given.streams[0]?.streamId === bad) throw new Error('this one is broken');
      return append(given);
    };
    startLeader(log);
    const { progress } = await finished(id);
    expect(progress).toMatchObject({
      done: 3,
      failed: 1,
      failures: [{ id: bad, reason: 'this one is broken' }],
    });
    for (const session of good) expect((await stateOf(session)).ended).not.toBeNull();
  });

  it('of two leaders at the same time has each effect once', async () => {
    const ids = await many(40, () => world.failed());
    const id = await request('resume');
    startLeader();
    startLeader();
    expect((await finished(id)).progress).toMatchObject({ failed: 0 });
    for (const session of ids) expect(await continuationsOf(session)).toHaveLength(1);
  });
});

/**
 * A log whose n-th append is its last: the process dies right before it, or right after its commit. Nothing of that process
 * happens any more.
 */
function dyingLog(n: number, when: 'before' | 'after', onDeath: () => void): EventLog {
  const log = openLog();
  const append = log.append.bind(log);
  let appends = 0;
  log.append = async (given: AppendRequest) => {
    appends += 1;
    if (appends > n || (appends === n && when === 'before')) return death(onDeath);
    const result = await append(given);
    return appends === n ? death(onDeath) : result;
  };
  return log;
}

function death(onDeath: () => void): Promise<never> {
  onDeath();
  return new Promise(() => {});
}

describe('a leader that dies at any append', () => {
  it.each<JobAction>(['cancel', 'resume', 'retry-deliveries', 'erase'])(
    '%s: the next one goes on, each item has its effect once, and the counts are exact',
    async (action) => {
      const make = {
        cancel: world.queued,
        resume: world.failed,
        'retry-deliveries': world.undelivered,
        erase: world.succeeded,
        'replay-dead-letters': world.queued,
      }[action];
      for (let n = 1, reached = true; reached; n += 1) {
        for (const when of ['before', 'after'] as const) {
          const route = `${when}-${n}`;
          const ids = await many(4, () => make({ route }));
          const id = await request(action, { route });
          const died = Promise.withResolvers<'died'>();
          const stopping = new AbortController();
          void runJobs({
            ...world.toolsOn(dyingLog(n, when, () => died.resolve('died'))),
            signal: stopping.signal,
            wake: new WakeUp(),
            itemsPerSecond: 10_000,
          });
          const first = await Promise.race([died.promise, finished(id)]);
          reached = first === 'died';
          stopping.abort();
          // Some of what was retried dies again: a second retry of the same job would be one too many. The others are still
          // pending: retrying them changes nothing, and yet this job did it.
          if (action === 'retry-deliveries')
            for (const session of ids.slice(0, 2))
              if ((await stateOf(session)).outputs[0]?.status === 'pending')
                await world.givesUpDelivery(session);
          const leader = startLeader();
          const { progress } = await finished(id);
          await leader.stop();
          expect([n, when, progress]).toEqual([
            n,
            when,
            { done: 4, skipped: 0, failed: 0, skips: {}, failures: [] },
          ]);
          for (const session of ids) {
            if (action === 'cancel') expect(await eventsOf(session, 'session.ended')).toHaveLength(1);
            if (action === 'resume') expect(await continuationsOf(session)).toHaveLength(1);
            if (action === 'retry-deliveries')
              expect(await eventsOf(session, 'delivery.retry-requested')).toHaveLength(1);
            if (action === 'erase') expect((await stateOf(session)).created).toBeNull();
          }
          // Else they would fill the queue that the next job waits for.
          if (action === 'retry-deliveries')
            for (const session of ids)
              if ((await stateOf(session)).outputs[0]?.status === 'pending') await world.delivers(session);
          if (action === 'resume') {
            for (const session of ids)
              for (const one of await continuationsOf(session))
                await world.does(one, () => ({ type: 'cancel', by: 'test' }));
          }
        }
      }
    },
  );
});

it('a leader that is killed by SIGKILL again and again in the middle of a job loses and repeats nothing', async () => {
  const ids = await many(120, () => world.undelivered());
  const id = await request('retry-deliveries', { route: 'r' });
  const script = fileURLToPath(new URL('./testing/leader-process.ts', import.meta.url));
  let kills = 0;
  for (;;) {
    const before = (await jobs.load(id))?.version ?? 0;
    const child = spawn(process.execPath, ['--no-warnings', script, world.database.url, '200'], {
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: 'ignore',
    });
    const over = await eventually(async () => {
      const job = await jobs.load(id);
      if (job === null || !isOpen(job)) return 'finished';
      return job.version > before ? 'progressed' : null;
    });
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    if (over === 'finished') break;
    kills += 1;
    // They die again, so that a repeated retry would be seen.
    for (const session of ids)
      if ((await stateOf(session)).outputs[0]?.status === 'pending') await world.givesUpDelivery(session);
  }
  expect(kills).toBeGreaterThanOrEqual(4);
  expect((await jobs.load(id))?.progress).toMatchObject({ done: 120, skipped: 0, failed: 0 });
  for (const session of ids) expect(await eventsOf(session, 'delivery.retry-requested')).toHaveLength(1);
});

import { setTimeout as pause } from 'node:timers/promises';
import type { Config, EventData, EventType, RecordedEvent, SessionId } from '@angelia/contracts';
import { newSessionId } from '@angelia/sessions';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Runner } from '../runner.ts';
import { type FixtureOptions, runnerFixture } from '../testing/runner-fixture.ts';
import { callsFor, hangs, says, scriptedModel } from '../testing/scripted-model.ts';

// What happens to a turn whose run was lost, with the real log and its clock (resume-is-derived, no-phantom-turns).

const LEASE_SECONDS = 1;

let world: Awaited<ReturnType<typeof runnerFixture>>;
let model: ReturnType<typeof scriptedModel>;

afterEach(() => world.stop());

const given = async (resume: Record<string, number> = {}, options: Omit<FixtureOptions, 'model'> = {}) => {
  model = scriptedModel();
  world = await runnerFixture({
    leaseSeconds: LEASE_SECONDS,
    ...options,
    model: model.model,
    agent: { resume, ...options.agent },
  });
};
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);

/** Looks again and again, as the sweep does, until the condition holds. */
const checkedUntil = async (
  runner: Pick<Runner, 'checkSession'>,
  id: SessionId,
  isSo: (events: readonly RecordedEvent[]) => boolean,
): Promise<RecordedEvent[]> =>
  eventually(async () => {
    await runner.checkSession(id);
    const events = await world.events(id);
    return isSo(events) && events;
  });
const isOver = (events: readonly RecordedEvent[]) => dataOf(events, 'session.ended').length > 0;
const hasRuns = (n: number) => (events: readonly RecordedEvent[]) =>
  dataOf(events, 'run.started').length === n;

/** A run whose model does not answer, and whose runner is then cut off, as by a kill. */
async function lostRun(id: SessionId, instance: string) {
  model.next(hangs);
  const runner = world.runner(instance);
  await eventually(async () => {
    await runner.checkSession(id);
    return model.left() === 0;
  });
  runner.cut();
  return runner;
}

describe('a crash loop', () => {
  it('C7: ends at max_attempts: the session fails, the user is told once, and nothing starts after that', async () => {
    await given({ max_attempts: 2 });
    const id = await world.create('deadly');
    await lostRun(id, 'first');
    await lostRun(id, 'second');
    const third = world.runner('third');
    const events = await checkedUntil(third, id, isOver);
    // Each attempt was counted before the model was asked.
    expect(dataOf(events, 'run.started').map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'attempts' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ outcome: 'failed', silent: false }]);
    expect(dataOf(events, 'session.ended')).toMatchObject([{ outcome: 'failed' }]);
    await third.checkSession(id);
    expect(await world.events(id)).toHaveLength(events.length);
    expect(model.requests).toHaveLength(2);
  });

  it('C7: is not one if each run makes progress: attempts are counted anew', async () => {
    await given({ max_attempts: 1 }, { agent: { toolsets: ['clarify', 'slow'] }, toolsets: { slow: [] } });
    const id = await world.create('long work');
    for (const n of [1, 2, 3]) {
      // A step is recorded (an unknown tool is answered at once), then the runner dies.
      model.next(callsFor({ name: 'none' }));
      await lostRun(id, `runner-${n}`);
    }
    model.next(says('done at last'));
    const events = await checkedUntil(world.runner('last'), id, isOver);
    expect(dataOf(events, 'run.started').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'done at last' }]);
  });
});

describe('freshness', () => {
  it('is measured from when the run was last known to be alive, even after its runner has restarted', async () => {
    await given({ freshness_seconds: 60 });
    const id = await world.create('slow');
    model.next(hangs);
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => model.left() === 0);
    // Nothing is written meanwhile; only the lease shows that the run is alive.
    await world.letPass(id, 120);
    const renewedAt = async () => (await world.log.leases.read(`run:${id}`)).lease?.renewedAt ?? 0;
    const before = await renewedAt();
    await eventually(async () => (await renewedAt()) > before + 100_000);
    runner.cut();
    expect(await world.log.leases.freeOf('a', 'a#next')).toEqual([`run:${id}`]);
    model.next(says('resumed'));
    const events = await checkedUntil(world.runner('b'), id, isOver);
    expect(dataOf(events, 'run.started')).toMatchObject([{ resumed: false }, { resumed: true, attempt: 2 }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'resumed' }]);
  });

  it('C3: once it has passed nothing starts, however often things restart; the session expires and says so once', async () => {
    await given({ freshness_seconds: 0.1 });
    const id = await world.create('old');
    await lostRun(id, 'dead');
    for (let restart = 1; restart <= 5; restart += 1) {
      await pause(200);
      await world.runner(`restarted-${restart}`).checkSession(id);
    }
    const events = await checkedUntil(world.runner('last'), id, isOver);
    expect(dataOf(events, 'run.started')).toHaveLength(1);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'stale' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ outcome: 'expired', silent: false }]);
  });

  it('does not apply to a run that a drain interrupted, which has its own limit', async () => {
    await given({ freshness_seconds: 0.1, max_interruption_seconds: 60 });
    const [soon, late] = [await world.create('soon'), await world.create('late')];
    for (const id of [soon, late]) {
      model.next(hangs);
      const draining = world.runner(`drained-${id}`);
      await draining.checkSession(id);
      await eventually(async () => hasRuns(1)(await world.events(id)));
      draining.close();
      draining.interruptAll();
      await draining.idle();
    }
    await pause(300);
    const runner = world.runner('next');
    expect(dataOf(await checkedUntil(runner, soon, isOver), 'session.ended')).toMatchObject([
      { outcome: 'succeeded' },
    ]);
    await world.letPass(late, 61);
    const events = await checkedUntil(runner, late, isOver);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'interrupted' }]);
    expect(dataOf(events, 'run.started')).toHaveLength(1);
  });
});

describe('runs that were lost because Postgres was away', () => {
  it('do not count: a runner that also saw the outage waits so that the original runner can report first', async () => {
    await given({ max_attempts: 1 });
    const id = await world.create('unlucky');
    const other = world.runner('other', { lastAwayAt: () => performance.now() });
    const cutOff = world.runner('cut off');
    model.next(hangs);
    await cutOff.checkSession(id);
    for (const n of [1, 2, 3]) {
      await eventually(() => model.requests.length === n);
      cutOff.cut();
      await pause(LEASE_SECONDS * 1_500);
      await other.checkSession(id);
      expect(dataOf(await world.events(id), 'run.started')).toHaveLength(n);
      // When Postgres is back, the original runner reports and continues by itself.
      model.next(n < 3 ? hangs : says('at last'));
      cutOff.mend();
    }
    const events = await checkedUntil(other, id, isOver);
    expect(dataOf(events, 'run.interrupted').map(({ reason }) => reason)).toEqual(
      Array.from({ length: 3 }, () => 'infrastructure'),
    );
    expect(dataOf(events, 'run.started').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
    expect(dataOf(events, 'session.ended')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('are taken over at once by a runner that restarts under the same name: its previous process cannot report', async () => {
    await given();
    const id = await world.create('work');
    await lostRun(id, 'same');
    const again = world.runner('same', { lastAwayAt: () => performance.now() });
    expect(dataOf(await checkedUntil(again, id, isOver), 'run.started')).toHaveLength(2);
  });
});

it('a late hint for a session that was pruned or erased since is acked, and nothing happens', async () => {
  await given();
  const gone = newSessionId();
  const runner = world.runner('a');
  await runner.checkSession(gone);
  await runner.checkDueSession(gone);
  expect(await world.events(gone)).toEqual([]);
  expect(runner.size).toBe(0);
});

describe('a run is not resumed when the operator has withdrawn what it needs', () => {
  const telegram = { target: 'telegram', to: { chat_id: '1' }, untrusted_address: false };
  const resumedWith = async (id: SessionId, config: (config: Config) => Config) => {
    await lostRun(id, 'before');
    const asked = model.requests.length;
    const events = await checkedUntil(world.runner('after', { config }), id, isOver);
    return { events, asked: model.requests.length - asked };
  };
  const withTelegram = (config: Config): Config => ({
    ...config,
    targets: { ...config.targets, telegram: { bot_token: '1:a' } },
  });

  it('its agent is gone', async () => {
    await given();
    const id = await world.create('work');
    const { events, asked } = await resumedWith(id, (config) => ({ ...config, agents: {} }));
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'agent_missing' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ outcome: 'failed', silent: false }]);
    expect(asked).toBe(0);
  });

  it('its target is gone: it fails for that reason, and the model is not asked', async () => {
    await given();
    const id = await world.create('work', 'default', [], { deliver: telegram });
    const failing = world.runner('without');
    await failing.checkSession(id);
    const events = await checkedUntil(failing, id, isOver);
    const [failed] = dataOf(events, 'run.failed');
    expect(failed).toMatchObject({ code: 'target_missing' });
    expect(failed?.message).toContain('telegram');
    expect(model.requests).toHaveLength(0);

    const configured = await world.create('work', 'default', [], { deliver: telegram });
    const done = await checkedUntil(world.runner('with', { config: withTelegram }), configured, isOver);
    expect(dataOf(done, 'session.ended')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('its target is gone, but there is a fallback: the answer goes there', async () => {
    await given();
    const id = await world.create('work', 'default', [], {
      deliver: telegram,
      fallbackTarget: { target: 'log', to: {}, untrusted_address: false },
    });
    const events = await checkedUntil(world.runner('without'), id, isOver);
    expect(dataOf(events, 'session.ended')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('its route was made by API, and such routes may no longer use its toolset', async () => {
    await given({}, { agent: { toolsets: ['terminal'] } });
    const allowing = (allowed_toolsets: string[]) => (config: Config) => ({
      ...config,
      api_routes: { allowed_toolsets },
    });
    const made = await world.create('work', 'default', [], { toolsets: ['terminal'], apiRoute: true });
    const refused = await checkedUntil(world.runner('a', { config: allowing(['clarify']) }), made, isOver);
    expect(dataOf(refused, 'run.failed')).toMatchObject([{ code: 'not_allowed' }]);
    expect(model.requests).toHaveLength(0);

    const allowed = await world.create('work', 'default', [], { apiRoute: true });
    const done = await checkedUntil(world.runner('b', { config: allowing(['terminal']) }), allowed, isOver);
    expect(dataOf(done, 'session.ended')).toMatchObject([{ outcome: 'succeeded' }]);
    // Only its agent limits a route that the operator wrote.
    const written = await world.create('work', 'default', [], { toolsets: ['terminal'] });
    const ended = await checkedUntil(world.runner('c', { config: allowing([]) }), written, isOver);
    expect(dataOf(ended, 'session.ended')).toMatchObject([{ outcome: 'succeeded' }]);
  });
});

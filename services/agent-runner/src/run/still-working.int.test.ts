import type { EventData, SessionId } from '@angelia/contracts';
import { decide } from '@angelia/session';
import { eventually, type ModelServer, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FixtureOptions, runnerFixture } from '../testing/runner-fixture.ts';

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await server.stop();
  await world.stop();
});

const given = async (options: Omit<FixtureOptions, 'modelUrl'> = {}) => {
  world = await runnerFixture({ modelUrl: server.baseUrl, ...options });
};
const hung = (text: string) => say(text, 60_000);
const statuses = async (id: SessionId) =>
  (await world.events(id))
    .filter((event) => event.type === 'session.interim-status')
    .map((event) => event.data as EventData<'session.interim-status'>);
const ended = (id: SessionId) =>
  eventually(async () => (await world.types(id)).includes('session.ended'), { describe: `${id} ends` });

describe('"Still working"', () => {
  it('is reported at each interval, and never after the answer', async () => {
    await given({ agent: { status_interval_seconds: 0.1 } });
    const id = await world.create('work');
    server.behave(async () => {
      await eventually(async () => (await statuses(id)).length >= 3);
      return say('answer');
    });
    await world.runner('a').checkSession(id);
    await ended(id);
    const said = await statuses(id);
    expect(new Set(said.map(({ kind, text }) => `${kind} ${text}`))).toEqual(
      new Set(['progress Still working... (less than a minute, step 1: thinking)']),
    );
    expect(said.map(({ sequence }) => sequence)).toEqual(said.map((_, n) => n + 1));
    const types = await world.types(id);
    expect(types.lastIndexOf('session.interim-status')).toBeLessThan(types.indexOf('model.responded'));
  });

  it('C12: has one timer, that of the turn in progress; a follow-up in the queue has none', async () => {
    await given({ agent: { status_interval_seconds: 1 } });
    server.next(hung('first'));
    const runner = world.runner('a');
    const id = await world.create('first');
    await runner.checkSession(id);
    for (const input of ['second', 'third']) {
      await world.sessions.execute(id, ({ state }) =>
        decide(state, { type: 'request-turn', source: 'message', input, deliveryId: input }),
      );
      await runner.checkSession(id);
    }
    await eventually(async () => (await statuses(id)).length >= 5);
    const events = await world.events(id);
    const said = events.filter((event) => event.type === 'session.interim-status');
    expect(said.map(({ data }) => (data as EventData<'session.interim-status'>).turn)).toEqual(
      said.map(() => 1),
    );
    // Three timers would have reported three times as often by then. On a busy machine one that is late is close to the next.
    const began = events.find(({ type }) => type === 'run.started')?.recordedAt ?? 0;
    const tooEarly = said.filter(({ recordedAt }, n) => recordedAt - began < (n + 1) * 950);
    expect(tooEarly).toEqual([]);
    runner.close();
    runner.interruptAll();
    await runner.idle();
  });

  it('comes from the current generation only: a runner that was taken over reports nothing more', async () => {
    await given({ agent: { status_interval_seconds: 0.2 }, leaseSeconds: 1 });
    server.behave(hung('never'));
    const id = await world.create('work');
    const frozen = world.runner('frozen');
    await frozen.checkSession(id);
    await eventually(() => server.requests.length === 1);
    frozen.cut();
    const other = world.runner('other');
    await eventually(async () => {
      await other.checkSession(id);
      return server.requests.length >= 2;
    });
    frozen.mend();
    await frozen.idle();
    await eventually(async () => {
      // As the sweep does: on a busy machine this runner may lose its short lease, too, and go on in the next generation.
      await other.checkSession(id);
      return (await statuses(id)).filter(({ generation }) => generation >= 2).length >= 3;
    });
    const types = (await world.events(id)).map((event) => [
      event.type,
      (event.data as { generation?: number }).generation,
    ]);
    const takeover = types.findIndex(([type, generation]) => type === 'run.started' && generation === 2);
    expect(types.slice(takeover).filter(([, generation]) => generation === 1)).toEqual([]);
    other.close();
    other.interruptAll();
    await other.idle();
  });

  it('is not reported if the interval is 0', async () => {
    await given({ agent: { status_interval_seconds: 0 } });
    server.next(say('answer', 300));
    const id = await world.create('work');
    await world.runner('a').checkSession(id);
    await ended(id);
    expect(await statuses(id)).toEqual([]);
  });
});

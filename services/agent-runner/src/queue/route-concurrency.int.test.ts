import type { SessionId } from '@angelia/contracts';
import { decide } from '@angelia/session';
import { eventually, type ModelServer, say, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FixtureOptions, runnerFixture } from '../testing/runner-fixture.ts';
import { VIEW_PAGE } from './waiting-list.ts';

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  expect(server.problems).toEqual([]);
  await server.stop();
  await world.stop();
});

const given = async (options: Omit<FixtureOptions, 'modelUrl'> = {}) => {
  world = await runnerFixture({ modelUrl: server.baseUrl, ...options });
};
const ended = (id: SessionId) =>
  eventually(async () => (await world.types(id)).includes('session.ended'), { describe: `${id} ends` });
const hung = (text: string) => say(text, 60_000);
const hook = (max_concurrency?: number) => ({ hook: { secret: 's', max_concurrency } });
const create = (count: number, text: string) =>
  Promise.all(Array.from({ length: count }, (_, n) => world.create(`${text} ${n}`)));
const asked = (text: string) => server.requests.filter(({ input }) => input.startsWith(text)).length;

/** The model answers when it has been asked this often: the first calls wait for each other, however slow the machine is. */
function answersFrom(calls: number): void {
  const enough = Promise.withResolvers<void>();
  server.behave(async (request) => {
    if (server.requests.length >= calls) enough.resolve();
    await enough.promise;
    return say(request.input, 50);
  });
}

describe('max_concurrency of a route', () => {
  it('holds for two runners together, and all sessions are answered', async () => {
    await given({ routes: hook(2) });
    answersFrom(2);
    const ids = await create(16, 'session');
    const runners = [world.runner('a'), world.runner('b')];
    await Promise.all(ids.map((id, n) => runners[n % 2]?.checkSession(id)));
    await Promise.all(ids.map(ended));
    expect(server.mostInFlight()).toBe(2);
    expect(server.requests).toHaveLength(16);
  });

  it('is what the config says now', async () => {
    await given({ routes: { hook: { secret: 's' } } });
    answersFrom(3);
    const runner = world.runner('a');
    const raised = await Promise.all(
      ['1', '2', '3'].map((n) => world.create(`raised ${n}`, 'default', [], { maxConcurrency: 1 })),
    );
    await Promise.all(raised.map((id) => runner.checkSession(id)));
    await Promise.all(raised.map(ended));
    expect(server.mostInFlight()).toBe(3);
  });

  it('is what the session captured, for a route that is not in the config', async () => {
    await given({ routes: { hook: { secret: 's' } } });
    answersFrom(1);
    const runner = world.runner('a');
    const captured = await Promise.all(
      ['1', '2', '3'].map((n) =>
        world.create(`captured ${n}`, 'default', [], { route: 'made-by-api', maxConcurrency: 1 }),
      ),
    );
    await Promise.all(captured.map((id) => runner.checkSession(id)));
    await Promise.all(captured.map(ended));
    expect(server.mostInFlight()).toBe(1);
  });

  it('keeps a flood on its route from taking the slots of others', async () => {
    await given({ routes: hook(1), agent: { max_concurrency: 2 } });
    server.behave((request) => (request.input.startsWith('flood') ? hung('x') : say('quick')));
    const flood = await create(80, 'flood');
    const quiet = await world.create('quiet', 'default', [], { route: 'other' });
    // The queue view without the routes that are full.
    const runner = world.runner('a', { waitingCap: 4, queued: () => (asked('quiet') === 0 ? [quiet] : []) });
    await Promise.all(flood.map((id) => runner.checkSession(id)));
    await eventually(() => asked('flood') === 1);
    await runner.checkSession(quiet);
    await ended(quiet);
    expect(asked('flood')).toBe(1);
    runner.interruptAll();
  });

  it('is fair without a limit too: a flood on one route does not shut out another', async () => {
    await given({ agent: { max_concurrency: 1 } });
    server.behave((request) => say(request.input, 20));
    const flood = await create(30, 'flood');
    const quiet = await world.create('quiet', 'default', [], { route: 'other' });
    const left = (ids: SessionId[], text: string) =>
      ids.filter((_, n) => !server.requests.some(({ input }) => input === `${text} ${n}`));
    // The queue view: routes taking turns.
    const queued = () => [quiet, ...left(flood, 'flood')];
    const runner = world.runner('a', { waitingCap: 2, queued });
    await Promise.all(flood.slice(0, 10).map((id) => runner.checkSession(id)));
    await runner.checkSession(quiet);
    for (const id of flood.slice(10)) await runner.checkSession(id);
    await ended(quiet);
    expect(asked('flood')).toBeLessThan(10);
    await Promise.all(flood.map(ended));
  });

  it('gives the next slot to the route that has none, even if hundreds of another route wait before it', async () => {
    await given({ agent: { max_concurrency: 4 } });
    server.behave((request) => say(request.input, 50));
    const flood = await create(200, 'flood');
    const quiet = await Promise.all(
      [0, 1, 2].map((n) => world.create(`quiet ${n}`, 'default', [], { route: 'other' })),
    );
    const runner = world.runner('a');
    await Promise.all(flood.map((id) => runner.checkSession(id)));
    const before = asked('flood');
    await Promise.all(quiet.map((id) => runner.checkSession(id)));
    await Promise.all(quiet.map(ended));
    // The quiet route's share is two slots of four: its three runs take as long as about four of the flood's.
    expect(asked('flood') - before).toBeLessThan(20);
    await Promise.all(flood.map(ended));
  });

  it('asks the view again when it showed only sessions in hand: those behind them are not forgotten', async () => {
    await given({ agent: { max_concurrency: 2 } });
    server.behave((request) => (request.input === 'busy' ? hung('x') : say('quick', 350)));
    const busy = await world.create('busy');
    const [first, second, third] = (await create(3, 'session')) as [SessionId, SessionId, SessionId];
    let looks = 0;
    const queued = () => {
      looks += 1;
      // The view lags: a whole page of a session that has been started since.
      if (looks <= 2) return Array<SessionId>(VIEW_PAGE).fill(busy);
      return asked('session') < 3 ? [third] : [];
    };
    const runner = world.runner('a', { waitingCap: 1, queued });
    for (const id of [busy, first, second, third]) await runner.checkSession(id);
    await Promise.all([first, second, third].map(ended));
    runner.close();
    runner.interruptAll();
  });

  it('frees the place of a dead runner when its lease expires', async () => {
    await given({ routes: hook(1), leaseSeconds: 1 });
    server.next(hung('lost'));
    const [first, second] = (await create(2, 'session')) as [SessionId, SessionId];
    const dead = world.runner('dead');
    await dead.checkSession(first);
    await eventually(() => server.requests.length === 1);
    dead.cut();
    const alive = world.runner('alive');
    await alive.checkSession(second);
    expect(await world.types(second)).not.toContain('run.started');
    await ended(second);
    dead.interruptAll();
  });

  // A lease of an hour: nothing here starts because a lease expired.
  describe('and a cancel', () => {
    const HOUR = 3_600;
    const cancel = async (id: SessionId) => {
      const done = await world.sessions.execute(id, ({ state }) =>
        decide(state, { type: 'cancel', by: 'api' }),
      );
      expect(done.status).toBe('appended');
    };
    const oneRunsOneWaits = async () => {
      await given({ routes: hook(1), leaseSeconds: HOUR });
      server.next(hung('never seen'));
      return (await create(2, 'session')) as [SessionId, SessionId];
    };

    it.each([
      ['tells the runner', true],
      ['whose signal is lost', false],
    ])('%s: the hung call is aborted and the session that waits is started', async (_case, signalled) => {
      const [first, second] = await oneRunsOneWaits();
      const runner = world.runner('a');
      await runner.checkSession(first);
      await eventually(() => server.inFlight() === 1);
      await runner.checkSession(second);
      expect(await world.types(second)).not.toContain('run.started');
      await cancel(first);
      if (signalled) runner.cancel(first);
      await ended(second);
      await runner.idle();
      expect(server.inFlight()).toBe(0);
      expect((await world.types(first)).slice(-2)).toEqual(['run.cancelled', 'session.ended']);
    });

    it('of a dead runner’s run frees its place for another one', async () => {
      const [first, second] = await oneRunsOneWaits();
      const dead = world.runner('dead');
      await dead.checkSession(first);
      await eventually(() => server.inFlight() === 1);
      dead.cut();
      await world.runner('alive').checkSession(second);
      await cancel(first);
      await ended(second);
      dead.interruptAll();
    });
  });
});

describe('a session that waits for a slot', () => {
  it('is read once, when its slot comes, without the queue view', async () => {
    await given({ agent: { max_concurrency: 4 }, agents: { idle: { model: 'main' } } });
    const answered = Promise.withResolvers<void>();
    server.behave(async (request) => {
      await answered.promise;
      return say(request.input);
    });
    let looks = 0;
    const queued = () => {
      looks += 1;
      return [];
    };
    const runner = world.runner('a', { queued });
    const ids = await create(100, 'session');
    // The first ones take the slots before the others come.
    await Promise.all(ids.slice(0, 4).map((id) => runner.checkSession(id)));
    await Promise.all(ids.slice(4).map((id) => runner.checkSession(id)));
    // A second hint, as of the sweep, finds it in memory.
    await Promise.all(ids.map((id) => runner.checkDueSession(id)));
    expect(runner.asked.readWholeStream).toBe(4);
    answered.resolve();
    await Promise.all(ids.map(ended));
    expect(server.requests).toHaveLength(100);
    // Those four were hinted during their runs, so they are read once more.
    await eventually(() => runner.size === 0);
    expect(runner.asked.readWholeStream).toBe(104);
    expect(looks).toBeLessThan(2);
  });

  it('of another agent is started at once: its slots are its own', async () => {
    await given({ agent: { max_concurrency: 1 }, agents: { other: { model: 'main' } } });
    server.behave((request) => (request.input.startsWith('busy') ? hung('x') : say('quick')));
    const runner = world.runner('a', { waitingCap: 2 });
    const busy = await create(10, 'busy');
    await Promise.all(busy.map((id) => runner.checkSession(id)));
    const quick = await world.create('quick', 'other');
    await runner.checkSession(quick);
    await ended(quick);
    expect(asked('busy')).toBe(1);
    runner.close();
    runner.interruptAll();
  });
});

describe('a turn that waits too long to be started', () => {
  it('expires and says so, even if no slot is free to start it', async () => {
    await given({ agent: { max_concurrency: 1 }, routes: { hook: { secret: 's', max_queue_seconds: 1 } } });
    server.next(hung('x'));
    const runner = world.runner('a');
    await runner.checkSession(await world.create('busy'));
    const late = await world.create('late', 'default', [], { queueDeadline: Date.now() + 300 });
    const patient = await world.create('patient', 'default', [], { queueDeadline: Date.now() + 60_000 });
    for (const id of [late, patient]) await runner.checkSession(id);
    // The sweep hints queued sessions every few seconds.
    await eventually(async () => {
      for (const id of [late, patient]) await runner.checkDueSession(id);
      return (await world.types(late)).includes('session.ended');
    });
    const events = await world.events(late);
    expect(events.map((event) => event.type)).not.toContain('run.started');
    expect(events.at(-1)?.data).toMatchObject({ outcome: 'expired' });
    expect(await world.types(patient)).toEqual(['session.created', 'turn.requested']);
    runner.interruptAll();
  });
});

describe('a run that is interrupted by a newer webhook', () => {
  /** Cancels the turn and requests the next one, as ingress does. */
  async function interrupt(id: SessionId, input: string): Promise<void> {
    const done = await world.sessions.execute(id, ({ state }) =>
      decide(state, { type: 'request-turn', source: 'webhook', input, deliveryId: input, interrupt: true }),
    );
    expect(done.status).toBe('appended');
  }

  it('stops at once when it gets the signal, and the same runner continues with the newer turn by itself', async () => {
    await given({ leaseSeconds: 60 });
    server.next(hung('never seen'));
    const id = await world.create('old');
    const runner = world.runner('a');
    await runner.checkSession(id);
    await eventually(() => server.requests.length === 1);
    await interrupt(id, 'new');
    runner.cancel(id);
    await ended(id);
    const answers = (await world.events(id)).filter((event) => event.type === 'session.final-response');
    expect(answers.map((event) => event.data)).toMatchObject([{ turn: 2, text: 'answer to: new' }]);
    expect(server.requests[1]?.body.messages.map((row) => row.role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ]);
  });

  it('is followed at once by another runner, and its late answer is refused', async () => {
    await given({ leaseSeconds: 60 });
    server.next(say('too late', 500));
    const id = await world.create('old');
    const first = world.runner('a');
    await first.checkSession(id);
    await eventually(() => server.requests.length === 1);
    await interrupt(id, 'new');
    await world.runner('b').checkSession(id);
    await ended(id);
    await first.idle();
    const events = await world.events(id);
    expect(JSON.stringify(events)).not.toContain('too late');
    expect(events.filter((event) => event.type === 'session.ended')).toHaveLength(1);
  });
});

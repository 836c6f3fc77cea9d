import { type Bus, connectBus } from '@angelia/bus';
import { NatsServer } from '@angelia/bus/testing';
import { type Config, type Hint, parseConfig, type SessionId } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { type LedLoop, ledLoops } from '@angelia/event-log/leading';
import { decide } from '@angelia/session';
import { freshTraceparent, newSessionId, Sessions } from '@angelia/sessions';
import { createTestDatabase, eventually, type TestDatabase } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '../logs/logger.ts';
import { announceCommits } from '../transport/announce-commits.ts';
import { type Leader, startLeader } from './leader.ts';

const logger = createLogger({
  service: 'test',
  instance: 'test',
  level: 'silent',
  destination: { write: () => {} },
});
const ALL: LedLoop[] = [...ledLoops];

let nats: NatsServer;
let database: TestDatabase;
/** The log, bus and leader of one process; two of them stand for two services. */
interface Member {
  readonly bus: Bus;
  readonly log: EventLog;
  readonly sessions: Sessions;
  leader: Leader | null;
}
let members: Member[];

function config(sweepSeconds: number): Config {
  const parsed = parseConfig({ timing: { lead_seconds: 1, sweep_seconds: sweepSeconds } });
  if (!parsed.ok) throw new Error('config');
  return parsed.config;
}

function join(name: string): Member {
  const bus = connectBus({ url: nats.url, name, replicas: 1, logger });
  const log = openEventLog({
    url: database.url,
    instance: name,
    holder: `${name}#1`,
    onCommitted: announceCommits(bus),
  });
  const member: Member = { bus, log, sessions: new Sessions({ log, instance: name }), leader: null };
  members.push(member);
  return member;
}

function startLeading(member: Member, sweepSeconds = 0.5): Leader {
  const leader = startLeader({
    log: member.log,
    bus: member.bus,
    config: { current: config(sweepSeconds) },
    service: 'delivery',
    logger,
    delayFirstTryMs: 0,
  });
  member.leader = leader;
  return leader;
}

function hintsOf(member: Member, type: string): Hint[] {
  const seen: Hint[] = [];
  member.bus.consume({
    durable: `test-${type.replaceAll('.', '_')}`,
    type,
    concurrency: 8,
    handler: async (hint) => {
      seen.push(hint);
      return 'done';
    },
  });
  return seen;
}

async function newSession(member: Member, traceparent = freshTraceparent()): Promise<SessionId> {
  const id = newSessionId();
  const done = await member.sessions.execute(
    id,
    ({ state }) =>
      decide(state, {
        type: 'create-session',
        route: 'r',
        event: null,
        deliveryId: id,
        title: 't',
        agent: 'default',
        deliver: { target: 'log', to: {}, untrusted_address: false },
        input: 'hello',
      }),
    { loaded: member.sessions.fresh(id), traceparent },
  );
  expect(done.status).toBe('appended');
  return id;
}

beforeAll(async () => {
  nats = await NatsServer.start();
});
afterAll(async () => {
  await nats.dispose();
});
beforeEach(async () => {
  database = await createTestDatabase();
  members = [];
});
afterEach(async () => {
  await Promise.all(
    members.map(async ({ leader, bus, log }) => {
      await leader?.resign();
      await bus.close();
      await log.close();
    }),
  );
  await database.drop();
});

describe('leader', () => {
  it('an appended event becomes a hint with its trace, and a row of the views', async () => {
    const member = join('one');
    const leader = startLeading(member);
    const hints = hintsOf(member, 'session.created');
    await eventually(() => leader.leading().length === ALL.length);
    const traceparent = freshTraceparent();
    const id = await newSession(member, traceparent);
    const hint = await eventually(() => hints.find((one) => one.stream_id === id));
    expect(hint).toEqual({ stream_id: id, version: 1, type: 'session.created', traceparent });
    const row = await eventually(async () =>
      (await member.log.lists.sessions({ limit: 10 })).items.find((session) => session.sessionId === id),
    );
    expect(row).toMatchObject({ route: 'r', status: 'queued' });
  });

  it('a commit of any service wakes the relay at once', async () => {
    const other = join('other');
    const leader = startLeading(join('leader'));
    const hints = hintsOf(other, 'session.created');
    await eventually(() => leader.leading().includes('relay') && other.bus.connected);
    const first = await newSession(other);
    await eventually(() => hints.some((hint) => hint.stream_id === first));
    // Without the ping each one waits for the relay's poll, about 250 ms, because a poll also found its predecessor. With
    // the ping one is quicker sooner or later, however busy the machine is.
    await eventually(async () => {
      const id = await newSession(other);
      const started = performance.now();
      await eventually(() => hints.some((hint) => hint.stream_id === id), { everyMs: 1 });
      return performance.now() - started < 100;
    });
  });

  it('one process leads; when it resigns another takes over at once, and nothing is missed', async () => {
    const one = join('one');
    const two = join('two');
    const first = startLeading(one);
    await eventually(() => first.leading().length === ALL.length);
    const second = startLeading(two);
    const hints = hintsOf(two, 'session.created');
    const before = await newSession(one);
    await eventually(() => hints.some((hint) => hint.stream_id === before));
    expect(second.leading()).toEqual([]);
    const stopped = first.resign();
    const between = await newSession(two);
    await stopped;
    await eventually(() => second.leading().length === ALL.length);
    expect(first.leading()).toEqual([]);
    const after = await newSession(two);
    await eventually(() => [between, after].every((id) => hints.some((hint) => hint.stream_id === id)));
  });

  it('work that nobody takes is hinted to its owner again and again', async () => {
    const member = join('one');
    startLeading(member);
    const hints = hintsOf(member, 'hint.run');
    const id = await newSession(member);
    await eventually(() => hints.filter((hint) => hint.stream_id === id).length >= 2);
    expect(hints.find((hint) => hint.stream_id === id)).toMatchObject({ version: 0, type: 'hint.run' });
  });

  it('unsettled sessions are hinted again after the store of JetStream vanished (the-bus-is-disposable)', async () => {
    const member = join('one');
    // No sweep within the test: a hint comes again because the relay noticed.
    const leader = startLeading(member, 600);
    const created = hintsOf(member, 'session.created');
    const due = hintsOf(member, 'hint.run');
    const id = await newSession(member);
    await eventually(() => created.some((hint) => hint.stream_id === id));
    // The views say what is unsettled. The sweep finds what they do not show yet.
    await eventually(async () => (await member.log.lists.sessions({ limit: 10 })).items.length === 1);
    await nats.kill();
    await nats.wipe();
    due.length = 0;
    await nats.start();
    await eventually(() => due.some((hint) => hint.stream_id === id));
    const next = await newSession(member);
    await eventually(() => created.some((hint) => hint.stream_id === next));
    expect(leader.leading()).toContain('relay');
  });
});

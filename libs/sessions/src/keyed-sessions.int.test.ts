import type { SessionId } from '@angelia/contracts';
import { type EventLog, LogUnavailable, openEventLog } from '@angelia/event-log';
import { type CreateSession, decide, initialState, transcript } from '@angelia/session';
import { createTestDatabase, type TestDatabase } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSessionId } from './ids.ts';
import { KeyedSessions, keyStream } from './keyed-sessions.ts';
import { type Loaded, Sessions } from './sessions.ts';

let database: TestDatabase;
let logs: EventLog[];
let sessions: Sessions;
/** Two replicas. */
let replicas: [KeyedSessions, KeyedSessions];

beforeAll(async () => {
  database = await createTestDatabase();
  logs = ['one', 'two'].map((instance) =>
    openEventLog({ url: database.url, instance, holder: `${instance}#1` }),
  );
  const [one, two] = logs.map((log, n) => {
    const own = new Sessions({ log, instance: `${n}` });
    sessions ??= own;
    return new KeyedSessions({ log, sessions: own, instance: `${n}` });
  });
  replicas = [one as KeyedSessions, two as KeyedSessions];
});
afterAll(async () => {
  await Promise.all(logs.map((log) => log.close()));
  await database.drop();
});

const first = (over: Partial<CreateSession> = {}): CreateSession => ({
  type: 'create-session',
  route: 'r',
  event: null,
  deliveryId: 'd-1',
  title: 't',
  agent: 'default',
  deliver: { target: 'log', to: {}, untrusted_address: false },
  input: 'hello',
  ...over,
});

async function answered(id: SessionId, text: string): Promise<Loaded> {
  for (;;) {
    const { state } = await sessions.load(id);
    if (state.ended !== null) return sessions.load(id);
    const generation = state.generation + 1;
    const turn = state.turns[0]?.turn ?? 0;
    const run = { generation, turn, runner: 'x', resumed: false, attempt: 1, takeover: false };
    await sessions.execute(id, (now) => decide(now.state, { type: 'start-run', ...run }));
    await sessions.execute(id, (now) => decide(now.state, { type: 'finish-turn', generation, text }));
  }
}

async function ended(over: Partial<CreateSession> = {}): Promise<Loaded> {
  const id = newSessionId();
  await sessions.execute(id, ({ state }) => decide(state, first(over)));
  return answered(id, 'hi');
}

const message = (input: string) => ({ source: 'message' as const, input, deliveryId: `m-${input}` });

describe('a message to a session that has ended', () => {
  it('opens a continuation with its config and transcript', async () => {
    const old = await ended({ title: 'about it', skills: ['s'] });
    const { status, sessionId } = await replicas[0].continueSession(old, message('and?'));
    expect(status).toBe('opened');
    const { state, events } = await sessions.load(sessionId);
    expect(state.created).toMatchObject({
      continues: old.id,
      title: 'about it',
      skills: ['s'],
      origin: 'message',
    });
    expect(transcript(events).map((row) => row.content)).toEqual(['hello', 'hi', 'and?']);
  });

  it('has its own trace, in all of its events (chaos seed 8: they had none)', async () => {
    const { sessionId } = await replicas[0].continueSession(await ended(), message('and?'));
    await answered(sessionId, 'well');
    const { events } = await sessions.load(sessionId);
    const traces = new Set(events.map((event) => event.meta.traceparent?.split('-')[1]));
    expect([...traces]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
  });

  it('opens one continuation for many messages at two replicas; the others become its turns', async () => {
    const old = await ended();
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) => replicas[(n % 2) as 0 | 1].continueSession(old, message(`${n}`))),
    );
    expect(new Set(all.map((one) => one.sessionId)).size).toBe(1);
    expect(all.filter((one) => one.status === 'opened')).toHaveLength(1);
    const { state } = await sessions.load(all[0]?.sessionId as SessionId);
    expect(state.turns).toHaveLength(8);
  });

  it('reaches the newest continuation, however old the id is', async () => {
    const old = await ended();
    const second = await replicas[0].continueSession(old, message('2'));
    await answered(second.sessionId, 'second');
    const third = await replicas[1].continueSession(old, message('3'));
    expect(third.status).toBe('opened');
    const { state, events } = await sessions.load(third.sessionId);
    expect(state.created?.continues).toBe(second.sessionId);
    expect(transcript(events).map((row) => row.content)).toEqual(['hello', 'hi', '2', 'second', '3']);
    const fourth = await replicas[0].continueSession(old, message('4'));
    expect(fourth).toEqual({ status: 'joined', sessionId: third.sessionId });
  });

  it('is accepted once per idempotency key, and returns the same session', async () => {
    const old = await ended();
    const key = { key: `message ${old.id}`, keepSeconds: 60 };
    const one = await replicas[0].continueSession(old, message('x'), { key });
    const two = await replicas[1].continueSession(old, message('x'), { key });
    expect(two).toEqual({ status: 'duplicate', sessionId: one.sessionId });
  });

  it('makes its continuation the current session of its session_key', async () => {
    const key = newSessionId();
    const old = await ended({ sessionKey: key });
    const { sessionId } = await replicas[0].continueSession(old, message('x'));
    const seen: (Loaded | null)[] = [];
    await replicas[1].execute(
      keyStream('session', 'r', key),
      (current) => {
        seen.push(current);
        return { to: 'none', refusal: null };
      },
      {},
    );
    expect(seen.at(-1)?.id).toBe(sessionId);
    expect(seen.at(-1)?.state.created?.sessionKey).toBe(key);
  });
});

describe('callers that wait for the same key', () => {
  const open = () => {
    const id = newSessionId();
    const decision = decide(initialState(), first({ deliveryId: id }));
    if (!decision.ok) throw new Error(decision.reason);
    return { to: 'new' as const, id, facts: decision.events };
  };

  it('all fail at once in an outage, and the next one tries again', async () => {
    let asked = 0;
    let away = true;
    const log = {
      streams: {
        findByKey: async () => null,
        readHead: async (id: string) => {
          asked += 1;
          await new Promise((resolve) => setTimeout(resolve, 50));
          if (away) throw new LogUnavailable('away');
          return (logs[0] as EventLog).streams.readHead(id);
        },
      },
    };
    const keyed = new KeyedSessions({ log, sessions, instance: 'x' });
    const key = keyStream('session', 'r', newSessionId());
    const settled = await Promise.allSettled(Array.from({ length: 20 }, () => keyed.execute(key, open, {})));
    expect(settled.every((one) => one.status === 'rejected')).toBe(true);
    expect(asked).toBe(1);
    away = false;
    expect((await keyed.execute(key, open, {})).status).toBe('appended');
  });

  it('are not affected by an error of one of them', async () => {
    const key = keyStream('session', 'r', newSessionId());
    const settled = await Promise.allSettled([
      replicas[0].execute(key, open, {}),
      replicas[0].execute(
        key,
        () => {
          throw new Error('mine alone');
        },
        {},
      ),
      replicas[0].execute(key, open, {}),
    ]);
    expect(settled.map((one) => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await (logs[0] as EventLog).streams.read(key)).toHaveLength(2);
  });
});

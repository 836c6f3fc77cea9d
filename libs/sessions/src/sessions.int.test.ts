import { runResource, type SessionId } from '@angelia/contracts';
import { type AppendRequest, type EventLog, openEventLog } from '@angelia/event-log';
import { decide, fold, type SessionCommand } from '@angelia/session';
import { createTestDatabase, type TestDatabase } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseClock } from './database-clock.ts';
import { newEventId, newSessionId } from './ids.ts';
import { type Loaded, Sessions } from './sessions.ts';
import { freshTraceparent } from './tracing.ts';

let database: TestDatabase;
let log: EventLog;
let sessions: Sessions;

beforeAll(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  sessions = new Sessions({ log, instance: 'test' });
});
afterAll(async () => {
  await log.close();
  await database.drop();
});

const create = ({ state }: Loaded) =>
  decide(state, {
    type: 'create-session',
    route: 'r',
    event: null,
    deliveryId: 'd-1',
    title: 't',
    agent: 'default',
    deliver: { target: 'log', to: {}, untrusted_address: false },
    input: 'hello',
  });

const message =
  (text: string) =>
  ({ state }: Loaded) =>
    decide(state, { type: 'request-turn', source: 'message', input: text, deliveryId: text });

async function created(): Promise<SessionId> {
  const id = newSessionId();
  const done = await sessions.execute(id, create, {
    loaded: sessions.fresh(id),
    traceparent: freshTraceparent(),
  });
  expect(done.status).toBe('appended');
  return id;
}

/** The real log, and the calls that it got. */
function watched(): { sessions: Sessions; reads: number[]; appends: AppendRequest[] } {
  const reads: number[] = [];
  const appends: AppendRequest[] = [];
  const through = new Sessions({
    instance: 'watched',
    log: {
      streams: {
        read: (id, from = 1) => {
          reads.push(from);
          return log.streams.read(id, from);
        },
      },
      now: () => log.now(),
      append: (request) => {
        appends.push(request);
        return log.append(request);
      },
    },
  });
  return { sessions: through, reads, appends };
}

describe('executing a decision', () => {
  it('appends the decision, and returns the session as a fresh read does', async () => {
    const id = newSessionId();
    const { sessions: own, reads } = watched();
    const done = await own.execute(id, create, { loaded: own.fresh(id) });
    if (done.status !== 'appended') throw new Error(done.status);
    expect(reads).toEqual([]);
    const read = await sessions.load(id);
    expect(done.loaded.version).toBe(read.version);
    expect(done.loaded.state).toEqual(read.state);
    expect(done.loaded.events.map(({ position: _, ...event }) => event)).toEqual(
      read.events.map(({ position: _, ...event }) => event),
    );
    expect(done.appended.map((fact) => fact.type)).toEqual(read.events.map((event) => event.type));
  });

  it('does nothing if there is nothing to do: no decision, or one that already holds', async () => {
    const id = await created();
    expect((await sessions.execute(id, () => null)).status).toBe('nothing');
    await sessions.execute(id, message('m'));
    const repeated = await sessions.execute(id, message('m'));
    expect(repeated.status).toBe('nothing');
    expect((await sessions.load(id)).version).toBe(3);
  });

  it('returns the refusal of the domain', async () => {
    const id = newSessionId();
    const done = await sessions.execute(id, message('m'));
    expect(done).toMatchObject({ status: 'refused', code: 'unknown_session' });
    expect(done.status === 'refused' && done.loaded.version).toBe(0);
  });

  it('accepts a key once, and names the stream that has it', async () => {
    const key = { key: `webhook:r:${newEventId()}`, keepSeconds: 60 };
    const first = newSessionId();
    const second = newSessionId();
    await sessions.execute(first, create, { key, loaded: sessions.fresh(first) });
    expect(await sessions.execute(second, create, { key, loaded: sessions.fresh(second) })).toEqual({
      status: 'duplicate',
      streamId: first,
    });
    expect((await sessions.load(second)).version).toBe(0);
  });

  it('returns the first name under a key to all callers with that key', async () => {
    const key = { key: `signed:${newEventId()}`, keepSeconds: 60 };
    const names = await Promise.all(
      ['a', 'b', 'c'].map((name) => sessions.firstUnder(key, `webhook:r:${name}`)),
    );
    expect(names).toEqual(['webhook:r:a', 'webhook:r:a', 'webhook:r:a']);
    expect(await sessions.firstUnder(key, 'webhook:r:d')).toBe('webhook:r:a');
    expect(await sessions.firstUnder({ ...key, key: `${key.key}-2` }, 'webhook:r:d')).toBe('webhook:r:d');
  });

  it('does not append while another live holder has the lease', async () => {
    const id = await created();
    const lease = (holder: string) => ({ resource: `run:${id}`, holder, seconds: 60 });
    expect((await sessions.execute(id, message('a'), { lease: lease('one#1') })).status).toBe('appended');
    expect(await sessions.execute(id, message('b'), { lease: lease('two#1') })).toMatchObject({
      status: 'leased',
      holder: 'one#1',
    });
    expect((await sessions.load(id)).state.lastTurn).toBe(2);
  });

  it('writes who, why and in which trace into the metadata', async () => {
    const id = await created();
    const { events } = await sessions.load(id);
    await sessions.execute(id, message('m'), { actor: 'api' });
    const after = await sessions.load(id);
    const meta = after.events.at(-1)?.meta;
    expect(meta).toEqual({
      actor: 'api',
      correlation: id,
      causation: events.at(-1)?.eventId,
      // Telemetry is off here: the session still has one trace.
      traceparent: events[0]?.meta.traceparent,
    });
    expect(events[0]?.meta.actor).toBe('test');
    expect(meta?.traceparent).toMatch(/^00-[0-9a-f]{32}-/);
  });
});

describe('conflicts', () => {
  it('decides again on the new events, and reads only those', async () => {
    const id = await created();
    const stale = await sessions.load(id);
    await sessions.execute(id, message('from another service'));
    const { sessions: own, reads, appends } = watched();
    const seen: number[] = [];
    const done = await own.execute(
      id,
      (loaded) => {
        seen.push(loaded.version);
        return message('mine')(loaded);
      },
      { loaded: stale },
    );
    expect(done.status).toBe('appended');
    expect(seen).toEqual([2, 3]);
    expect(reads).toEqual([3]);
    expect(appends.map(({ streams }) => streams[0]?.expectedVersion)).toEqual([2, 3]);
    expect(done.status === 'appended' && done.loaded.state).toEqual((await sessions.load(id)).state);
  });

  it('stops if the new events make the decision unnecessary', async () => {
    const id = await created();
    const stale = await sessions.load(id);
    await sessions.execute(id, ({ state }) => decide(state, { type: 'cancel', by: 'api' }));
    expect((await sessions.execute(id, message('too late'), { loaded: stale })).status).toBe('refused');
  });

  it('two writers of one stream both succeed, in some order, none twice', async () => {
    const id = await created();
    const other = openEventLog({ url: database.url, instance: 'other', holder: 'other#1' });
    const others = new Sessions({ log: other, instance: 'other' });
    try {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => [
          sessions.execute(id, message(`a${index}`)),
          others.execute(id, message(`b${index}`)),
        ]).flat(),
      );
      const { events, state } = await sessions.load(id);
      expect(state.lastTurn).toBe(41);
      expect(events.map((event) => event.version)).toEqual(events.map((_, index) => index + 1));
      expect(new Set(events.map((event) => event.eventId)).size).toBe(events.length);
      expect(state).toEqual(fold(events));
    } finally {
      await other.close();
    }
  });

  it('gives up if it never succeeds', async () => {
    const id = await created();
    let overtaken = 0;
    const racing = new Sessions({
      instance: 'slow',
      log: {
        now: () => log.now(),
        streams: log.streams,
        append: async (request) => {
          overtaken += 1;
          await sessions.execute(id, message(`faster ${overtaken}`));
          return log.append(request);
        },
      },
    });
    await expect(racing.execute(id, message('slow'), { maxRetries: 2 })).rejects.toMatchObject({
      code: 'too_many_conflicts',
      retryable: true,
    });
    expect(overtaken).toBe(3);
  });
});

describe('the time', () => {
  it.each([-1, 1])(
    'is the one of the database before the first append, on a host that is %i h off',
    async (hours) => {
      const wall = () => Date.now() + hours * 3_600_000;
      const clock = new DatabaseClock({ monotonic: () => performance.now(), wall });
      const own = new Sessions({ log, instance: 'off', clock });
      const before = await log.now();
      const seen = await own.now();
      expect(seen).toBeGreaterThanOrEqual(before);
      expect(seen).toBeLessThanOrEqual(await log.now());
    },
  );

  it('is asked for once, and corrected by each append', async () => {
    let asked = 0;
    const counting = {
      append: log.append.bind(log),
      streams: log.streams,
      now: () => {
        asked += 1;
        return log.now();
      },
    };
    const own = new Sessions({ log: counting, instance: 'own' });
    await own.now();
    await own.now();
    expect(asked).toBe(1);
    const other = new Sessions({ log: counting, instance: 'other' });
    const id = newSessionId();
    await other.execute(id, create, { loaded: other.fresh(id) });
    await other.now();
    expect(asked).toBe(1);
  });
});

describe('the lease of a run', () => {
  const RUNNER = 'runner#1';
  const leaseOf = async (id: SessionId) => (await log.leases.read(runResource(id))).lease?.holder ?? null;

  /** Held by another holder than the one that appends below, for longer than any test takes. */
  async function running(): Promise<SessionId> {
    const id = await created();
    const run = { generation: 1, turn: 1, runner: RUNNER, resumed: false, attempt: 1, takeover: false };
    await sessions.execute(id, ({ state }) => decide(state, { type: 'start-run', ...run }), {
      lease: { resource: runResource(id), holder: RUNNER, seconds: 3_600 },
    });
    await sessions.execute(id, ({ state }) =>
      decide(state, {
        type: 'record-model-response',
        generation: 1,
        step: 1,
        model: 'm',
        text: '',
        toolCalls: [{ id: 'ask', name: 'clarify', arguments: '{}' }],
        finishReason: 'tool-calls',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    );
    expect(await leaseOf(id)).toBe(RUNNER);
    return id;
  }

  const question = { clarificationId: 'q', callId: 'ask', question: '?', deadline: 0 };
  const newer = { source: 'webhook', input: 'newer', deliveryId: 'newer' } as const;
  const ends: readonly SessionCommand[] = [
    { type: 'cancel', by: 'api' },
    { type: 'request-turn', ...newer, interrupt: true },
    { type: 'finish-turn', generation: 1, text: 'done' },
    { type: 'fail-run', generation: 1, code: 'x', message: 'x', text: 'x' },
    { type: 'interrupt-run', generation: 1, reason: 'drain' },
    { type: 'request-clarification', generation: 1, ...question, onTimeout: 'end' },
    { type: 'expire', generation: 1, reason: 'attempts', turn: 1 },
  ];

  it.each(ends)(
    'is given back with the events that end the run, whoever appends them: $type',
    async (command) => {
      const id = await running();
      expect((await sessions.execute(id, ({ state }) => decide(state, command))).status).toBe('appended');
      expect(await leaseOf(id)).toBeNull();
    },
  );

  it('stays with the run for anything else', async () => {
    const id = await running();
    await sessions.execute(id, message('a further turn'));
    expect(await leaseOf(id)).toBe(RUNNER);
  });

  it('belongs to the run that is open when the append succeeds', async () => {
    const id = await running();
    const stale = await sessions.load(id);
    const next = { generation: 2, turn: 1, runner: 'next#1', resumed: true, attempt: 2, takeover: true };
    await database.query('DELETE FROM angelia.leases WHERE resource = $1', [runResource(id)]);
    await sessions.execute(id, ({ state }) => decide(state, { type: 'start-run', ...next }), {
      lease: { resource: runResource(id), holder: 'next#1', seconds: 3_600 },
    });
    await sessions.execute(id, ({ state }) => decide(state, { type: 'cancel', by: 'api' }), {
      loaded: stale,
    });
    expect(await leaseOf(id)).toBeNull();
  });
});

describe('streams written by other versions', () => {
  it('folds past an unknown event type, and appends after it', async () => {
    const id = await created();
    await log.append({
      streams: [
        {
          streamId: id,
          expectedVersion: 2,
          events: [
            { eventId: newEventId(), type: 'session.blessed', data: { by: 'v9' }, meta: { actor: 'v9' } },
          ],
        },
      ],
    });
    const loaded = await sessions.load(id);
    expect(loaded.version).toBe(3);
    expect((await sessions.execute(id, message('m'), { loaded })).status).toBe('appended');
    expect((await sessions.load(id)).version).toBe(4);
  });

  it('does not read a newer schema, and says to upgrade', async () => {
    const id = await created();
    await database.query(
      'UPDATE angelia.events SET schema_version = 2 WHERE stream_id = $1 AND version = 2',
      [id],
    );
    await expect(sessions.load(id)).rejects.toMatchObject({ code: 'event_too_new', retryable: true });
  });
});

import { cancelSubject, type SessionId, sessionId } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { decide, markOf, type SessionCommand, transcript, withoutFences } from '@angelia/session';
import { type Loaded, Sessions } from '@angelia/sessions';
import { signatureHeaders } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { rawRequest } from '../../testing/raw-request.ts';

const SECRET = 'webhook-secret-kept-in-the-config';
const keyed = (over: Record<string, unknown>) => ({ prompt: 'Say {text}', session_key: '{key}', ...over });

const config = {
  secret: SECRET,
  limits: { rate_limit: 0 },
  agents: { default: {} },
  routes: {
    alerts: { prompt: 'Say {text}', coalesce: { key: '{key}', window_seconds: 30, max_wait_seconds: 40 } },
    others: { prompt: 'Say {text}', coalesce: { key: '{key}' }, max_queue_seconds: 60 },
    issues: keyed({}),
    newest: keyed({ on_busy: 'coalesce' }),
    urgent: keyed({ on_busy: 'interrupt' }),
    strict: keyed({ on_busy: 'reject' }),
    both: keyed({ coalesce: { key: '{key}' } }),
    limited: keyed({ rate_limit: 2 }),
    gaps: { prompt: 'Say {text} {absent}', coalesce: { key: '{key}', window_seconds: 30 } },
    holes: keyed({ prompt: 'Say {text} {absent}' }),
    asked: keyed({ deliver: 'http', deliver_extra: { url: 'https://example.com/{place}' } }),
  },
};

let database: TestDatabase;
let log: EventLog;
let sessions: Sessions;
let replicas: [TestIngress, TestIngress];

beforeAll(async () => {
  database = await createTestDatabase();
  log = openEventLog({ url: database.url, instance: 'test', holder: 'test#1' });
  sessions = new Sessions({ log, instance: 'test' });
  const start = (name: string) =>
    startIngress({ databaseUrl: database.url, config, env: { ANGELIA_INSTANCE: name } });
  replicas = [await start('ingress-1'), await start('ingress-2')];
});
afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.close()));
  await log?.close();
  await database?.drop();
});

let posts = 0;
function newDelivery(): string {
  posts += 1;
  return `d-${posts}`;
}
interface Posted {
  readonly status: number;
  readonly body: Record<string, string>;
  readonly session: SessionId;
}
async function post(
  route: string,
  key: string | undefined,
  text: string,
  { deliveryId = newDelivery(), to = posts % 2, more = {} } = {},
): Promise<Posted> {
  const payload = JSON.stringify({ text, ...(key === undefined ? {} : { key }), ...more });
  const answer = await rawRequest({
    url: `${replicas[to as 0 | 1].baseUrl}/webhooks/${route}`,
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders({ secret: SECRET, deliveryId }, payload),
    },
    body: payload,
  });
  const body = JSON.parse(answer.text) as Record<string, string>;
  return { status: answer.status, body, session: sessionId(body.session_id ?? '') };
}

/** What a runner, an API call or a timer does to the session meanwhile. */
async function doing(id: SessionId, ...commands: readonly SessionCommand[]): Promise<Loaded> {
  for (const command of commands) {
    const done = await sessions.execute(id, ({ state }) => decide(state, command));
    if (done.status !== 'appended') throw new Error(`${command.type}: ${JSON.stringify(done)}`);
  }
  return sessions.load(id);
}
const start = (generation: number, turn = generation): SessionCommand => ({
  type: 'start-run',
  generation,
  turn,
  runner: 'runner#1',
  resumed: false,
  attempt: 1,
  takeover: false,
});
const answer = (generation: number, text: string): SessionCommand => ({
  type: 'finish-turn',
  generation,
  text,
});
const typesOf = async (id: SessionId) => (await log.streams.read(id)).map((event) => event.type);
const opened = async (id: SessionId) => (await sessions.load(id)).state.created;
let keys = 0;
function newKey(): string {
  keys += 1;
  return `key ${keys}`;
}

describe('coalescing', () => {
  it('makes one session of ten concurrent webhooks at two replicas; the last input counts, and all are recognised later', async () => {
    const key = newKey();
    const ids = Array.from({ length: 10 }, (_, n) => `ten-${n}`);
    const answers = await Promise.all(
      ids.map((deliveryId, n) => post('alerts', key, deliveryId, { deliveryId, to: n % 2 })),
    );
    expect(answers.map((one) => one.status)).toEqual(ids.map(() => 202));
    expect(new Set(answers.map((one) => one.session)).size).toBe(1);
    expect(answers.filter((one) => one.body.status === 'accepted')).toHaveLength(1);
    const coalesced = answers.filter((one) => one.body.status === 'coalesced');
    expect(coalesced).toHaveLength(9);
    const { session } = coalesced[0] as Posted;
    expect(coalesced[0]?.body).toEqual({
      status: 'coalesced',
      route: 'alerts',
      event: 'push',
      delivery_id: expect.any(String),
      session_id: session,
    });
    const { state, events } = await sessions.load(session);
    expect(state.turns).toMatchObject([{ turn: 1, superseded: 9, startedAt: null }]);
    const last = events.at(-1)?.data as { delivery_id: string; traceparent: string };
    expect(last.traceparent).toMatch(/^00-/);
    expect(transcript(events).at(-1)?.content).toBe(
      `Say ${last.delivery_id}\n\n[This replaces 9 earlier webhooks that arrived shortly before.]`,
    );
    for (const deliveryId of ids) {
      const again = await post('alerts', key, deliveryId, { deliveryId });
      expect(again).toMatchObject({ status: 200, body: { status: 'duplicate', session_id: session } });
    }
    expect((await sessions.load(session)).version).toBe(events.length);
  });

  it('says when the session may start, and moves that later, up to the longest wait', async () => {
    const key = newKey();
    const before = Date.now();
    const { session } = await post('alerts', key, 'a');
    const first = (await opened(session))?.startAfter ?? 0;
    expect(first - before).toBeGreaterThanOrEqual(29_900);
    expect(first - Date.now()).toBeLessThanOrEqual(30_000);
    await post('alerts', key, 'b');
    const second = (await sessions.load(session)).state.turns[0]?.startAfter ?? 0;
    expect(second).toBeGreaterThanOrEqual(first);
    // For the log this was 35 seconds ago, so less than a window is left.
    await database.query(
      "UPDATE angelia.events SET recorded_at = recorded_at - interval '35 seconds' WHERE stream_id = $1",
      [session],
    );
    await post('alerts', key, 'c');
    const turn = (await sessions.load(session)).state.turns[0];
    expect(turn?.startAfter).toBe(Math.max(second, (turn?.requestedAt ?? 0) + 40_000));
  });

  it('counts max_queue_seconds from the end of the window', async () => {
    const key = newKey();
    const { session } = await post('others', key, 'a');
    const created = await opened(session);
    expect((created?.queueDeadline ?? 0) - (created?.startAfter ?? 0)).toBe(60_000);
    await post('others', key, 'b');
    const turn = (await sessions.load(session)).state.turns[0];
    expect((turn?.queueDeadline ?? 0) - (turn?.startAfter ?? 0)).toBe(60_000);
  });

  it('is over when the run starts: the next webhook opens a new session, not a continuation', async () => {
    const key = newKey();
    const first = await post('alerts', key, 'a');
    await doing(first.session, start(1));
    const second = await post('alerts', key, 'b');
    expect(second.body.status).toBe('accepted');
    expect(second.session).not.toBe(first.session);
    expect((await opened(second.session))?.continues).toBe(null);
    expect((await post('alerts', key, 'c')).session).toBe(second.session);
  });

  it('takes every webhook once when the run starts at the same moment', async () => {
    for (let round = 0; round < 15; round += 1) {
      const key = newKey();
      const { session } = await post('alerts', key, 'first');
      const [, ...answers] = await Promise.all([
        sessions.execute(session, ({ state }) => decide(state, start(1))),
        post('alerts', key, 'x', { to: 0 }),
        post('alerts', key, 'y', { to: 1 }),
      ]);
      expect(answers.map((one) => one.status)).toEqual([202, 202]);
      const types = await typesOf(session);
      // Nothing is added to a turn that has started.
      expect(types.indexOf('run.started')).toBe(types.length - 1);
      const others = new Set(answers.map((one) => one.session).filter((id) => id !== session));
      expect(others.size).toBeLessThanOrEqual(1);
      for (const one of answers) {
        const texts = JSON.stringify(await log.streams.read(one.session));
        expect(texts).toContain(`"${one.body.delivery_id}"`);
      }
    }
  });

  it('opens a new session when the one in the window was cancelled', async () => {
    const key = newKey();
    const first = await post('alerts', key, 'a');
    await doing(first.session, { type: 'cancel', by: 'api' });
    const second = await post('alerts', key, 'b');
    expect(second).toMatchObject({ status: 202, body: { status: 'accepted' } });
    expect(second.session).not.toBe(first.session);
  });

  it('does not mix routes with equal keys, or keys of one route', async () => {
    const key = newKey();
    const ids = [
      await post('alerts', key, 'a'),
      await post('others', key, 'a'),
      await post('issues', key, 'a'),
      await post('alerts', newKey(), 'a'),
    ].map((one) => one.session);
    expect(new Set(ids).size).toBe(4);
  });

  it('gives a webhook without the key its own session, and logs that once', async () => {
    const [one, two] = [
      await post('alerts', undefined, 'a', { to: 0 }),
      await post('alerts', undefined, 'b', { to: 0 }),
    ];
    expect([one.body.status, two.body.status]).toEqual(['accepted', 'accepted']);
    expect(one.session).not.toBe(two.session);
    expect(replicas[0].logged().split('lacks a part of the key').length - 1).toBe(1);
  });

  it('takes a burst of a hundred for one key without a conflict', async () => {
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 100 }, () => post('alerts', key, 'x', { to: 0 })));
    expect(new Set(answers.map((one) => `${one.status} ${one.session}`)).size).toBe(1);
    expect(await typesOf(answers[0]?.session as SessionId)).toHaveLength(101);
  });
});

describe('session_key', () => {
  it('makes each further webhook a further turn, in order, from any replica, once', async () => {
    const key = newKey();
    const first = await post('issues', key, 'one');
    await doing(first.session, start(1));
    const second = await post('issues', key, 'two', { deliveryId: 'two of issues' });
    const third = await post('issues', key, 'three');
    expect([second, third].map((one) => one.body.status)).toEqual(['accepted', 'accepted']);
    expect(new Set([first, second, third].map((one) => one.session)).size).toBe(1);
    const again = await post('issues', key, 'two', { deliveryId: 'two of issues' });
    expect(again).toMatchObject({ status: 200, body: { status: 'duplicate', session_id: first.session } });
    const { state } = await sessions.load(first.session);
    expect(state.created?.sessionKey).toBe(key);
    expect(state.turns.map((turn) => turn.turn)).toEqual([1, 2, 3]);
  });

  it.each([
    ['gaps', ['webhook.coalesced', 1]],
    ['holes', ['turn.requested', 2]],
  ] as const)(
    'records what each payload lacks, on the turn of its webhook (%s)',
    async (route, [type, turn]) => {
      const key = newKey();
      const first = await post(route, key, 'one');
      const second = await post(route, key, 'two', { more: { absent: 'here' } });
      const third = await post(route, key, 'three');
      expect([second.session, third.session]).toEqual([first.session, first.session]);
      const { events } = await sessions.load(first.session);
      const missing = { placeholders: ['{absent}'], on_missing: 'keep' };
      expect(events.slice(2).map(({ type: each, data }) => [each, data])).toMatchObject([
        ['webhook.placeholder-missing', { turn: 1, delivery_id: first.body.delivery_id, ...missing }],
        [type, { turn }],
        [type, { turn: type === 'turn.requested' ? 3 : 1 }],
        [
          'webhook.placeholder-missing',
          { turn: type === 'turn.requested' ? 3 : 1, delivery_id: third.body.delivery_id, ...missing },
        ],
      ]);
    },
  );

  it('fences the values of a webhook with the mark of its turn in the session that it joins', async () => {
    const said = (text: string, seed: string | undefined, turn: number) => {
      const mark = markOf(seed ?? '', turn);
      return `Say <untrusted-${mark}>${text}</untrusted-${mark}>`;
    };
    const inputsOf = async (session: SessionId) =>
      (await sessions.load(session)).events.flatMap(({ type, data }) =>
        type === 'turn.requested' || type === 'webhook.coalesced' ? [(data as { input: string }).input] : [],
      );
    const seedOf = async (session: SessionId) => (await sessions.load(session)).state.created?.fenceSeed;
    const key = newKey();
    const { session } = await post('newest', key, 'the first one');
    await doing(session, start(1));
    await post('newest', key, 'the second one');
    await post('newest', key, 'the third one');
    const seed = await seedOf(session);
    expect(seed).toMatch(/^[0-9a-f]{32}$/);
    expect(await inputsOf(session)).toEqual([
      said('the first one', seed, 1),
      said('the second one', seed, 2),
      said('the third one', seed, 2),
    ]);
    // The continuation has its own seed, so a mark of the old session closes nothing in it.
    await doing(session, answer(1, 'done'), start(2, 2), answer(2, 'done'));
    const { session: next } = await post('newest', key, 'after that');
    expect(await seedOf(next)).not.toBe(seed);
    expect((await inputsOf(next)).at(-1)).toBe(said('after that', await seedOf(next), 1));
  });

  it('needs an address only from the webhook that opens the session', async () => {
    const key = newKey();
    expect((await post('asked', key, 'nowhere')).status).toBe(400);
    const first = await post('asked', key, 'one', { more: { place: 'here' } });
    expect(first.status).toBe(202);
    expect(await post('asked', key, 'two')).toMatchObject({ status: 202, session: first.session });
    const { state } = await sessions.load(first.session);
    expect(state.created?.deliver.to).toEqual({ url: 'https://example.com/here' });
  });

  it('agrees on one session when two replicas get the first webhook at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      const key = newKey();
      const both = await Promise.all([0, 1].map((to) => post('issues', key, `${to}`, { to })));
      expect(both.map((one) => one.body.status)).toEqual(['accepted', 'accepted']);
      expect(both[0]?.session).toBe(both[1]?.session);
      expect((await sessions.load(both[0]?.session as SessionId)).state.turns).toHaveLength(2);
    }
  });

  it('continues after the end in one new session, which names the old one and has its transcript', async () => {
    const key = newKey();
    const { session: old } = await post('issues', key, 'one');
    await doing(old, start(1), answer(1, 'first answer'));
    const both = await Promise.all([0, 1].map((to) => post('issues', key, `later ${to}`, { to })));
    const next = both[0]?.session as SessionId;
    expect(both[1]?.session).toBe(next);
    expect(next).not.toBe(old);
    const { state, events } = await sessions.load(next);
    expect(state.created).toMatchObject({ continues: old, sessionKey: key });
    expect(state.turns).toHaveLength(2);
    expect(
      transcript(events)
        .map((row) => row.content)
        .slice(0, 2),
    ).toEqual(['Say one', 'first answer']);
    expect(withoutFences(transcript(events)[2]?.content ?? '')).toMatch(/^Say later [01]$/);
  });

  it('also continues a cancelled session; a pruned one starts new', async () => {
    const key = newKey();
    const { session: cancelled } = await post('issues', key, 'one');
    await doing(cancelled, { type: 'cancel', by: 'api' });
    const { session: next } = await post('issues', key, 'two');
    expect((await opened(next))?.continues).toBe(cancelled);
    await database.query('DELETE FROM angelia.events WHERE stream_id = $1', [next]);
    const { session: last } = await post('issues', key, 'three');
    expect((await opened(last))?.continues).toBe(null);
    expect((await post('issues', key, 'four')).session).toBe(last);
  });

  it('loses no webhook when the session ends at the same moment', async () => {
    for (let round = 0; round < 15; round += 1) {
      const key = newKey();
      const { session } = await post('issues', key, 'first');
      await doing(session, start(1));
      const [, ...answers] = await Promise.all([
        doing(session, answer(1, 'done')),
        post('issues', key, 'x', { to: 0 }),
        post('issues', key, 'y', { to: 1 }),
      ]);
      for (const one of answers) {
        expect(one.status).toBe(202);
        const { state } = await sessions.load(one.session);
        expect(state.ended).toBe(null);
        expect(state.recentDeliveryIds).toContain(one.body.delivery_id);
      }
      expect(answers[0]?.session).toBe(answers[1]?.session);
    }
  });

  it('counts every accepted webhook against the rate limit', async () => {
    const key = newKey();
    const answers = [];
    for (const text of ['a', 'b', 'c']) answers.push(await post('limited', key, text));
    expect(answers.map((one) => one.status)).toEqual([202, 202, 429]);
  });
});

describe('on_busy', () => {
  it('coalesce replaces the turn that waits behind the run; if none waits, it is a further turn', async () => {
    const key = newKey();
    const { session } = await post('newest', key, 'one');
    await doing(session, start(1));
    expect((await post('newest', key, 'two')).body.status).toBe('accepted');
    expect((await post('newest', key, 'three')).body.status).toBe('coalesced');
    expect((await post('newest', key, 'four')).body).toMatchObject({
      status: 'coalesced',
      session_id: session,
    });
    const { state, events } = await doing(session, answer(1, 'done'));
    expect(state.turns).toMatchObject([{ turn: 2, superseded: 2 }]);
    expect(state.turns[0]?.startAfter ?? 0).toBeLessThanOrEqual(Date.now());
    expect(transcript(events).at(-1)?.content).toMatch(/^Say four\n\n\[This replaces 2 earlier/);
  });

  it('interrupt cancels the run, frees its lease, tells the runner, and continues with the new turn', async () => {
    const key = newKey();
    const { session } = await post('urgent', key, 'one');
    const lease = { resource: `run:${session}`, holder: 'runner#1', seconds: 60 };
    await sessions.execute(session, ({ state }) => decide(state, start(1)), { lease });
    const deliveryId = 'interrupts once';
    const second = await post('urgent', key, 'two', { to: 0, deliveryId });
    expect(second).toMatchObject({ status: 202, body: { status: 'accepted', session_id: session } });
    expect((await typesOf(session)).slice(-2)).toEqual(['run.cancelled', 'turn.requested']);
    expect((await log.leases.read(lease.resource)).lease).toBe(null);
    expect(replicas[0].pings).toContain(cancelSubject(session));
    await doing(session, start(2));
    expect((await post('urgent', key, 'two', { deliveryId })).body.status).toBe('duplicate');
    expect((await sessions.load(session)).state.run?.generation).toBe(2);
    await expect(doing(session, answer(1, 'too late'))).rejects.toThrow('stale_generation');
  });

  it('reject answers 409 with the reason while a turn has no answer; a duplicate is still a duplicate; later it is taken', async () => {
    const key = newKey();
    const first = await post('strict', key, 'one', { deliveryId: 'strict one' });
    const refused = await post('strict', key, 'two', { deliveryId: 'strict two' });
    expect(refused.status).toBe(409);
    expect(refused.body.error).toContain(first.session);
    expect((await post('strict', key, 'one', { deliveryId: 'strict one' })).body.status).toBe('duplicate');
    await doing(first.session, start(1));
    expect((await post('strict', key, 'two', { deliveryId: 'strict two' })).status).toBe(409);
    await doing(first.session, answer(1, 'done'));
    const taken = await post('strict', key, 'two', { deliveryId: 'strict two' });
    expect(taken.status).toBe(202);
    expect((await opened(taken.session))?.continues).toBe(first.session);
  });
});

describe('session_key and coalesce together', () => {
  it('give each turn of the session its own window', async () => {
    const key = newKey();
    const { session } = await post('both', key, 'one');
    expect((await post('both', key, 'two')).body).toMatchObject({ status: 'coalesced', session_id: session });
    await doing(session, start(1));
    expect((await post('both', key, 'three')).body).toMatchObject({
      status: 'accepted',
      session_id: session,
    });
    expect((await post('both', key, 'four')).body).toMatchObject({
      status: 'coalesced',
      session_id: session,
    });
    const { state } = await doing(session, answer(1, 'done'));
    expect(state.turns).toMatchObject([{ turn: 2, superseded: 1 }]);
    expect(state.turns[0]?.startAfter).toBeGreaterThan(Date.now() + 25_000);
  });
});

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { connectBus } from '@angelia/bus';
import {
  answer,
  eventually,
  SHORT_TIMING,
  type Sink,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
  testRoute,
  unsettledHints,
} from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ViewsObserver } from './views.ts';

// Storage stays bounded by itself (invariant bounded): the pruning job on the whole system, with a retention of seconds.

const RETENTION_SECONDS = 3;
const REPOSITORY = join(import.meta.dirname, '../..');
const SESSIONS = 150;

let sink: Sink;
let exports: string;
let stack: TestStack;
let observer: ViewsObserver;

beforeAll(async () => {
  sink = await startSink({ secret: TEST_SINK_SECRET });
  sink.behave(({ route }) => answer(route === 'stuck' ? 503 : 200));
  exports = await mkdtemp(join(tmpdir(), 'angelia-exports-'));
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      routes: {
        hook: testRoute(sink.url),
        stuck: testRoute(sink.url),
        keyed: testRoute(sink.url, { session_key: '{key}' }),
      },
      // A delivery that is refused once stays unsettled for the whole test.
      delivery: { retry_schedule_seconds: [600] },
      extra: {
        retention: { sessions_days: RETENTION_SECONDS / 86_400, export: true },
        directories: { exports },
        timing: { ...SHORT_TIMING, prune_seconds: 0.5 },
      },
    }),
  });
  observer = await ViewsObserver.connect(stack.postgresUrl);
});
afterAll(async () => {
  await observer?.close();
  await stack?.stop();
  await sink?.stop();
  await rm(exports, { recursive: true, force: true });
});

const erase = (id: string) =>
  fetch(new URL(`/v1/sessions/${id}`, stack.baseUrl), {
    method: 'DELETE',
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });

/** Streams of these sessions that are still in the log. */
async function inLog(ids: readonly string[]): Promise<number> {
  const rows = await observer.query(
    'SELECT 1 FROM angelia.events WHERE version = 1 AND stream_id = ANY ($1)',
    [ids],
  );
  return rows.length;
}
const gone = (ids: readonly string[]) =>
  eventually(async () => (await inLog(ids)) === 0, { describe: 'they are pruned' });

async function posted(count: number): Promise<{ id: string; deliveryId: string }[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const deliveryId = randomUUID();
      const { status, sessionId: id } = await stack.post({ deliveryId, body: { text: `old ${n}` } });
      expect(status).toBe(202);
      return { id, deliveryId };
    }),
  );
}

/** Posts webhooks one after the other until it is stopped, and returns how long each took. */
function posting() {
  const took: number[] = [];
  let on = true;
  const done = (async () => {
    while (on) {
      const begun = performance.now();
      const { status } = await stack.post({ body: { text: 'meanwhile' } });
      expect(status).toBe(202);
      took.push(performance.now() - begun);
      await pause(20);
    }
  })();
  return {
    stop: async () => {
      on = false;
      await done;
      return took.sort((a, b) => a - b);
    },
  };
}

async function exported(): Promise<Map<string, number>> {
  const lines = new Map<string, number>();
  for (const file of await readdir(exports)) {
    const content = await text(createReadStream(join(exports, file)).pipe(createGunzip()));
    for (const line of content.trimEnd().split('\n')) {
      const id = (JSON.parse(line) as { stream_id: string }).stream_id;
      lines.set(id, (lines.get(id) ?? 0) + 1);
    }
  }
  return lines;
}

describe('the pruning job', () => {
  it('exports expired sessions, then deletes them from log and views, and nobody notices', async () => {
    const { sessionId: stuck } = await stack.post({ route: 'stuck', body: { text: 'not settled' } });
    const keyed = await stack.post({ route: 'keyed', body: { text: 'under a key', key: 'k' } });
    const old = await posted(SESSIONS);
    const ids = [...old.map(({ id }) => id), keyed.sessionId];

    const meanwhile = posting();
    await gone(ids);
    const took = await meanwhile.stop();
    expect(took.length).toBeGreaterThan(0);

    // The export has whole sessions. Unsettled sessions stay in the log.
    const lines = await exported();
    expect(ids.filter((id) => (lines.get(id) ?? 0) < 6)).toEqual([]);
    expect(lines.has(stuck)).toBe(false);
    expect((await stack.session(stuck)).deliveries.pending).toBe(1);
    expect((await erase(stuck)).status).toBe(409);

    // A repeated webhook is recognised. A session key whose session is gone starts a new one.
    const [first] = old;
    const again = await stack.post({ deliveryId: first?.deliveryId ?? '', body: { text: 'old 0' } });
    expect([again.status, again.sessionId]).toEqual([200, first?.id]);
    await eventually(async () => {
      const keys = await observer.query("SELECT 1 FROM angelia.events WHERE stream_id LIKE 'key-%'");
      return keys.length === 0;
    });
    const anew = await stack.post({ route: 'keyed', body: { text: 'once more', key: 'k' } });
    expect(anew.status).toBe(202);
    expect((await stack.events(anew.sessionId))[0]?.data).toMatchObject({ continues: null });

    // After an import they are in the log again, until they are pruned again because they are old.
    const files = (await readdir(exports)).map((file) => join(exports, file));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(REPOSITORY, 'dist/import.js'), ...files],
      { env: { ...process.env, DATABASE_URL: stack.postgresUrl } },
    );
    const imported = [...stdout.matchAll(/imported (\d+) sessions/g)].map(([, count]) => Number(count));
    expect(imported.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(ids.length);
    await gone(ids);
  });

  it('a late hint for a pruned session is acked and starts nothing', async () => {
    const [late] = await posted(1);
    const id = late?.id ?? '';
    await gone([id]);
    const bus = connectBus({
      url: stack.natsUrl,
      name: 'test',
      replicas: 1,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    try {
      await bus.whenReady();
      const types = [
        ...['session.created', 'turn.requested', 'run.interrupted', 'clarification.answered'],
        ...['tool.started', 'session.interim-status', 'session.final-response', 'session.ended'],
        ...['hint.run', 'hint.delivery', 'hint.process'],
      ];
      await bus.publishHints(
        types.map((type) => ({ stream_id: id, version: 1, type, messageId: randomUUID() })),
      );
      await eventually(async () => (await unsettledHints(stack.natsUrl)) === 0);
    } finally {
      await bus.close();
    }
    expect(await inLog([id])).toBe(0);
    expect(await stack.adminGet('/v1/dead-letters')).toMatchObject({ items: [] });
  });

  it('goes on when its leader is killed, and the views match the log', async () => {
    const leader = await eventually(async () => {
      const [lead] = await observer.query<{ holder: string }>(
        "SELECT holder FROM angelia.leaders WHERE name = 'prune' AND expires_at > now()",
      );
      return lead?.holder.split('#')[0];
    });
    await stack.restarted(leader, stack.kill(leader));
    // It may be ingress, which the next webhooks need.
    await eventually(() => stack.ready(leader));
    const old = await posted(20);
    await gone(old.map(({ id }) => id));
    await eventually(async () => {
      expect(await observer.views()).toEqual(await observer.folded());
      return true;
    });
  });
});

describe('DELETE /v1/sessions/{id}', () => {
  it('erases one session at once', async () => {
    const { sessionId: id } = await stack.post({ body: { text: 'forget me' } });
    // The pruning job may be faster.
    await eventually(async () => {
      if ((await inLog([id])) === 0) return true;
      const { status, deliveries } = await stack.session(id);
      return status === 'ended' && deliveries.pending === 0;
    });
    const erased = await erase(id);
    expect([200, 404]).toContain(erased.status);
    expect((await erase(id)).status).toBe(404);
    expect(await inLog([id])).toBe(0);
  });
});

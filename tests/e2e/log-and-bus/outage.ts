import {
  eventually,
  type PostAnswer,
  type Sink,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { signalTree } from '../process-tree.ts';
import { addToStack, stack } from '../shared-stack.ts';

// Without Postgres, nothing is accepted that is not durable, and no service dies. Without NATS, everything is accepted.

const SERVICES = ['ingress', 'agent-runner', 'delivery', 'process-watcher'];
/** Senders such as GitHub hang up after about 10 s. They must have their 503 by then, although Postgres does not answer. */
const NOTICE_MS = 9_000;

let sink: Sink;

/** Everything that a failed test may have left frozen. */
const thaw = () => {
  for (const name of ['postgres', 'nats']) signalTree(stack.pid(name), 'SIGCONT');
};

const pids = () => SERVICES.map((name) => stack.pid(name));

async function statusOf(path: string): Promise<number> {
  return (await fetch(new URL(path, stack.baseUrl), { signal: AbortSignal.timeout(20_000) })).status;
}

/** Each accepted answer is at the sink once, and any further copy is marked as a possible duplicate. */
async function allDelivered(posts: readonly PostAnswer[]): Promise<void> {
  for (const { sessionId } of posts) await stack.waitForEnd(sessionId, { settled: true });
  const copies = posts.map(({ sessionId }) => sink.taken(sessionId).map(({ payload }) => payload));
  expect(copies.map((payloads) => payloads.filter((payload) => !payload.possible_duplicate).length)).toEqual(
    posts.map(() => 1),
  );
}

async function acceptsAgain(): Promise<void> {
  await eventually(async () => (await statusOf('/readyz')) === 200);
  const after = await stack.post({ route: 'outlasting', body: { text: 'after' } });
  expect(after.status).toBe(202);
  await allDelivered([after]);
}

async function burst(count: number, text: string): Promise<PostAnswer[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, n) =>
      stack.post({ route: 'outlasting', body: { text: `${text} ${n}` } }),
    ),
  );
}

export function outage(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return { routes: { outlasting: testRoute(sink.url) } };
  });

  afterAll(() => sink?.stop());

  describe('without Postgres', () => {
    afterEach(thaw);

    it('frozen: 503 with Retry-After, not ready, no service dies; when it is back the accepted work is done', async () => {
      const before = pids();
      const accepted = await burst(20, 'before');
      expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 202));

      signalTree(stack.pid('postgres'), 'SIGSTOP');
      const refused = await stack.post({
        route: 'outlasting',
        body: { text: 'meanwhile' },
        deliveryId: 'while-frozen',
        signal: AbortSignal.timeout(NOTICE_MS),
      });
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(refused.body.error).toEqual(expect.any(String));
      await eventually(async () => (await statusOf('/readyz')) !== 200);
      expect(await statusOf('/healthz')).toBe(200);
      expect(pids()).toEqual(before);

      signalTree(stack.pid('postgres'), 'SIGCONT');
      await acceptsAgain();
      // The sender tries again, as the 503 asks. There is one session, whether the first try was stored or not.
      const again = await stack.post({
        route: 'outlasting',
        body: { text: 'meanwhile' },
        deliveryId: 'while-frozen',
      });
      expect([200, 202]).toContain(again.status);
      await allDelivered([...accepted, again]);
      expect(pids()).toEqual(before);
    });

    it('killed three times under load: every answer is 202 or 503, no service dies, the accepted work is done', async () => {
      const before = pids();
      const posts: PostAnswer[] = [];
      let loading = true;
      const poster = async (name: string) => {
        for (let n = 0; loading; n += 1) {
          posts.push(await stack.post({ route: 'outlasting', body: { text: `load ${name} ${n}` } }));
          await pause(100);
        }
      };
      const load = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(poster));
      for (let kills = 0; kills < 3; kills += 1) {
        const posted = posts.length;
        await eventually(() => posts.length > posted + 50);
        await stack.restarted('postgres', stack.kill('postgres'));
        await acceptsAgain();
      }
      loading = false;
      await load;

      expect(posts.filter(({ status }) => status !== 202 && status !== 503)).toEqual([]);
      for (const { headers } of posts.filter(({ status }) => status === 503)) {
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      }
      await allDelivered(posts.filter(({ status }) => status === 202));
      expect(pids()).toEqual(before);
    });
  });

  describe('without NATS', () => {
    afterEach(thaw);

    it('frozen: webhooks are accepted and ingress stays ready; when it is back the work is done', async () => {
      const before = pids();
      stack.freeze('nats');
      const accepted: PostAnswer[] = [];
      // Longer than every timeout of the client: it must not matter when the client notices the dead connection.
      const until = performance.now() + 6_000;
      while (performance.now() < until) {
        accepted.push(...(await burst(5, 'meanwhile')));
        expect(await statusOf('/readyz')).toBe(200);
        await pause(500);
      }
      expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 202));
      const undone = await Promise.all(accepted.map(({ sessionId }) => stack.session(sessionId)));
      expect(undone.some(({ status }) => status !== 'ended')).toBe(true);

      stack.thaw('nats');
      await allDelivered(accepted);
      expect(pids()).toEqual(before);
    });

    it('killed under load: all webhooks are accepted and their work is done', async () => {
      const before = pids();
      const accepted = await burst(20, 'before');
      const killed = stack.kill('nats');
      for (let n = 0; n < 10; n += 1) {
        accepted.push(...(await burst(2, 'meanwhile')));
        expect(await statusOf('/readyz')).toBe(200);
      }
      await stack.restarted('nats', killed);
      expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 202));
      await allDelivered(accepted);
      expect(pids()).toEqual(before);
    });
  });
}

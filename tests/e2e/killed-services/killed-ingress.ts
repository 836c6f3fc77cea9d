import {
  eventually,
  type PostAnswer,
  type Sink,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';

// Invariant accepted-is-durable, seen from outside: every 202 has a session, whatever happens right after it.

let sink: Sink;

const AT_ONCE = 20;

/** Posts webhooks, kills ingress at answer number `killAfter`, and returns the result of every post. */
async function killedOnAnswer(round: number, killAfter: number) {
  let answers = 0;
  let killed: number | undefined;
  const posts = Array.from({ length: AT_ONCE }, async (_, n) => {
    const deliveryId = `round-${round}-${n}`;
    const body = { text: deliveryId };
    try {
      const answer = await stack.post({ route: 'promised', body, deliveryId });
      answers += 1;
      // In the same tick in which the answer arrived, so that ingress has no time to finish anything.
      if (answers === killAfter) killed = stack.kill('ingress');
      return { deliveryId, body, answer };
    } catch {
      return { deliveryId, body, answer: null };
    }
  });
  const all = await Promise.all(posts);
  if (killed === undefined) throw new Error(`ingress was not killed: ${answers} answers`);
  await stack.restarted('ingress', killed);
  await eventually(async () => (await fetch(`${stack.baseUrl}/readyz`).catch(() => null))?.status === 200);
  return all;
}

export function killedIngress(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return { routes: { promised: testRoute(sink.url) } };
  });

  afterAll(() => sink?.stop());

  describe('ingress killed (-9) right after a 202', () => {
    it.each([1, 7, 19])('(answer number %i): every accepted session exists, once', async (nth) => {
      const posts = await killedOnAnswer(nth, nth);
      const accepted = posts.filter(({ answer }) => answer?.status === 202);
      expect(accepted.length).toBeGreaterThanOrEqual(nth);
      for (const { deliveryId, answer } of accepted) {
        const session = await stack.session(answer?.sessionId ?? '');
        expect([session.delivery_id, session.id]).toEqual([deliveryId, answer?.sessionId]);
      }
      // The provider sends everything again: accepted webhooks are recognised, and nothing exists twice.
      const repeated: { deliveryId: string; first: PostAnswer | null; again: PostAnswer }[] = [];
      for (const { deliveryId, body, answer } of posts) {
        repeated.push({
          deliveryId,
          first: answer,
          again: await stack.post({ route: 'promised', body, deliveryId }),
        });
      }
      for (const { first, again } of repeated) {
        if (first?.status === 202) {
          expect([again.status, again.sessionId]).toEqual([200, first.sessionId]);
        } else {
          expect([200, 202]).toContain(again.status);
        }
      }
      expect(new Set(repeated.map(({ again }) => again.sessionId)).size).toBe(AT_ONCE);
      for (const { again } of repeated) await stack.waitForEnd(again.sessionId, { settled: true });
      const texts = sink.received.filter(({ payload }) =>
        String(payload.delivery_id).startsWith(`round-${nth}-`),
      );
      expect(new Set(texts.map(({ payload }) => payload.session_id)).size).toBe(AT_ONCE);
    });
  });
}

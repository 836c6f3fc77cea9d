import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  answer,
  eventually,
  type MatrixStandIn,
  type Sink,
  selfSigned,
  startMatrix,
  startSink,
  startTelegram,
  startTlsFront,
  TEST_SINK_SECRET,
  type TelegramStandIn,
  type TlsFront,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { addToStack, stack } from '../shared-stack.ts';

// Invariant in-order-once, when a crash leaves it unknown whether the platform took a message.

const BOT_TOKEN = '123456:AAabcdefghijklmnopqrstuvwxyz123456789';
const ROOM = '!room:hs.test';

let sink: Sink;
let telegram: TelegramStandIn;
let matrix: MatrixStandIn;
let fronts: { telegram: TlsFront; matrix: TlsFront };
let certificates: string;

/** The three moments, each forced from outside. Both platforms share them, because a kill costs a restart. */
const moments = {
  async 'before it sent'(): Promise<number> {
    const before = both().map((front) => front.stalled);
    for (const front of both()) front.behave('no-handshake');
    return await killedWhen(() => both().every((front, n) => front.stalled > (before[n] ?? 0)));
  },
  async 'after it sent'(): Promise<number> {
    for (const front of both()) front.behave('no-answer');
    return await killedWhen(() => both().every((front) => front.held > 0));
  },
  /** The platform has answered, but Postgres has not stored the record of it. */
  async 'after the answer, before the record'(): Promise<number> {
    for (const front of both()) front.behave('no-answer');
    await eventually(() => both().every((front) => front.held > 0));
    const client = new pg.Client({ connectionString: stack.postgresUrl });
    await client.connect();
    try {
      await client.query('BEGIN; LOCK TABLE angelia.events IN SHARE ROW EXCLUSIVE MODE');
      const waiting = `SELECT pid FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND application_name LIKE '%delivery%'`;
      for (const front of both()) front.release();
      const killed = await killedWhen(async () => (await client.query(waiting)).rows.length > 0);
      // Otherwise Postgres would still run its statement when the lock is gone.
      await client.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS theirs`);
      await eventually(async () => (await client.query(waiting)).rows.length === 0);
      await client.query('ROLLBACK');
      return killed;
    } finally {
      await client.end();
    }
  },
};

const both = () => [fronts.telegram, fronts.matrix];

async function killedWhen(so: () => boolean | Promise<boolean>): Promise<number> {
  await eventually(so);
  return stack.kill('delivery');
}

export function killedSender(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    telegram = await startTelegram({ token: BOT_TOKEN });
    matrix = await startMatrix({ token: 'matrix-access-token' });
    fronts = { telegram: await startTlsFront(telegram.url), matrix: await startTlsFront(matrix.url) };
    certificates = await mkdtemp(join(tmpdir(), 'angelia-ca-'));
    await writeFile(join(certificates, 'ca.pem'), selfSigned.cert);
    return {
      env: { NODE_EXTRA_CA_CERTS: join(certificates, 'ca.pem') },
      targets: {
        telegram: { bot_token: BOT_TOKEN, api_base: fronts.telegram.url },
        matrix: { access_token: 'matrix-access-token', api_base: fronts.matrix.url },
      },
      routes: {
        sent: testRoute(sink.url),
        telegram: testRoute(sink.url, { deliver: 'telegram', deliver_extra: { chat_id: '{chat}' } }),
        matrix: testRoute(sink.url, { deliver: 'matrix', deliver_extra: { room_id: ROOM } }),
      },
    };
  });

  afterAll(async () => {
    await Promise.all([fronts?.telegram, fronts?.matrix, telegram, matrix, sink].map((it) => it?.stop()));
    if (certificates) await rm(certificates, { recursive: true });
  });

  describe('delivery killed (-9) during a request', () => {
    it('sends it once more after the restart, marked and with the same id, and never again', async () => {
      sink.behave({ kind: 'hang' });
      const { sessionId } = await stack.post({ route: 'sent', body: { text: 'who took it?' } });
      await eventually(() => sink.received.some(({ payload }) => payload.session_id === sessionId));
      sink.behave(answer(200));
      const killed = stack.kill('delivery');
      await stack.restarted('delivery', killed);

      // Long before the claim of the dead one expires: the new one has the same name, so it knows that the old one is gone.
      await stack.waitForEnd(sessionId, { settled: true });
      const seen = sink.received.filter(({ payload }) => payload.session_id === sessionId);
      expect(seen.map(({ payload }) => payload.possible_duplicate)).toEqual([false, true]);
      expect(new Set(seen.map(({ webhookId }) => webhookId)).size).toBe(1);
      expect(seen.map(({ signature }) => signature)).toEqual(['valid', 'valid']);

      // Other deliveries were not affected.
      const next = await stack.post({ route: 'sent', body: { text: 'and now?' } });
      await stack.waitForEnd(next.sessionId, { settled: true });
      expect(sink.received.filter(({ payload }) => payload.session_id === next.sessionId)).toHaveLength(1);
      expect(sink.received.filter(({ payload }) => payload.session_id === sessionId)).toHaveLength(2);
    });

    it('loses nothing under load', async () => {
      const before = sink.received.length;
      const posting = Promise.all(
        Array.from({ length: 60 }, (_, n) => stack.post({ route: 'sent', body: { text: `work ${n}` } })),
      );
      await eventually(() => sink.received.length > before);
      await stack.restarted('delivery', stack.kill('delivery'));
      const posts = await posting;
      for (const { sessionId } of posts) await stack.waitForEnd(sessionId, { settled: true });
      const copies = posts.map(({ sessionId }) =>
        sink.taken(sessionId).filter(({ payload }) => !payload.possible_duplicate),
      );
      // At most one copy is unmarked. If the first copy is marked, the claim before it sent no request.
      expect(copies.filter((unmarked) => unmarked.length > 1)).toEqual([]);
      expect(posts.filter(({ sessionId }) => sink.taken(sessionId).length === 0)).toEqual([]);
      expect(posts.filter(({ sessionId }) => sink.taken(sessionId).length > 2)).toEqual([]);
    });
  });

  describe('delivery killed (-9)', () => {
    const mark = '(possible duplicate) ';

    it.each(Object.entries(moments))(
      '%s: never lost; without idempotency one more copy, marked; with idempotency exactly one',
      async (moment, killed) => {
        const chat = String(100 + Object.keys(moments).indexOf(moment));
        const before = matrix.events.length;
        const asked = killed();
        const [telegrams, matrices] = await Promise.all(
          ['telegram', 'matrix'].map((route) => stack.post({ route, body: { text: 'who took it?', chat } })),
        );
        const pid = await asked;
        for (const front of both()) {
          front.release();
          front.behave('pass');
        }
        await stack.restarted('delivery', pid);
        for (const post of [telegrams, matrices])
          await stack.waitForEnd(post?.sessionId ?? '', { settled: true });

        const shown = telegram.shownIn(chat);
        const text = shown[0]?.replace(mark, '');
        expect(text).toContain('who took it?');
        // A message that was claimed but never sent is marked as well, because nobody can know.
        expect(shown).toEqual(moment === 'before it sent' ? [`${mark}${text}`] : [text, `${mark}${text}`]);
        const attempts = (await stack.events(telegrams?.sessionId ?? '')).filter(
          ({ type }) => type === 'delivery.attempted',
        );
        expect(attempts.map(({ data }) => data.possible_duplicate)).toEqual([false, true]);

        const made = matrix.events.slice(before);
        expect(made).toHaveLength(1);
        expect(JSON.stringify(made)).toContain('who took it?');
        expect(JSON.stringify(made)).not.toContain('possible duplicate');
      },
    );
  });
}

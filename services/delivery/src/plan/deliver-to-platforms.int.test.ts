import type { DeliveryTarget, SessionId } from '@angelia/contracts';
import {
  eventually,
  type GithubStandIn,
  type MatrixStandIn,
  type Sink,
  startGithub,
  startMatrix,
  startSink,
  startTelegram,
  TEST_SINK_SECRET,
  type TelegramStandIn,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Rate } from '../targets/target.ts';
import {
  type DeliveryFixture,
  final,
  openDeliveryFixture,
  type SenderOptions,
  status,
} from '../testing/delivery-fixture.ts';
import { DUPLICATE_MARK } from '../text/cut/chunk.ts';

// What the core does for every platform, seen at platforms that differ: Telegram (no idempotency, cuts long messages,
// edits), GitHub (can be looked up), Matrix (idempotent).

const TOKEN = '123456:telegram-token';

let fixture: DeliveryFixture;
let telegram: TelegramStandIn;
let github: GithubStandIn;
let matrix: MatrixStandIn;
let sink: Sink;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterAll(() => fixture?.close());

beforeEach(async () => {
  [telegram, github, matrix, sink] = await Promise.all([
    startTelegram({ token: TOKEN }),
    startGithub({ token: 'github-token' }),
    startMatrix({ token: 'matrix-token' }),
    startSink({ secret: TEST_SINK_SECRET }),
  ]);
});

afterEach(async () => {
  await fixture.closeSenders();
  await Promise.all([telegram, github, matrix, sink].map((platform) => platform.stop()));
});

/** Telegram's own rate would make tests slow; those about rates say theirs. */
function sender(options: SenderOptions & { perChat?: Rate } = {}) {
  return fixture.sender({
    settings: {
      telegram: { bot_token: TOKEN, api_base: telegram.url },
      github_comment: { token: 'github-token', api_base: github.url },
      matrix: { access_token: 'matrix-token', api_base: matrix.url },
    },
    targets: (targets) => ({
      ...targets,
      find: (name) => {
        const ready = targets.find(name);
        const { limits: _own, ...target } = ready.target;
        const limits = options.perChat === undefined ? {} : { limits: { perChat: options.perChat } };
        return { ...ready, target: { ...target, ...limits } };
      },
    }),
    ...options,
  });
}

const to = (target: string, address: Record<string, unknown>): DeliveryTarget => ({
  target,
  to: address,
  untrusted_address: false,
});
const toTelegram = (chat = '1') => to('telegram', { chat_id: chat });
const toGithub = () => to('github_comment', { repo: 'acme/shop', pr_number: '7' });
const toMatrix = () => to('matrix', { room_id: '!room:example.org' });
const toSink = () => to('http', { url: sink.url });

const fiveHundred = { kind: 'answer', answer: { status: 500, body: { ok: false } } } as const;
const take = { kind: 'take' } as const;
const cutOff = { kind: 'cut-off' } as const;

const lastReason = async (id: SessionId) => (await fixture.deliveryEvents(id)).at(-1)?.data.reason;

describe('a long answer', () => {
  const paragraphs = Array.from({ length: 150 }, (_, n) => `Paragraph ${n}: ${'word '.repeat(12)}`.trim());
  const long = paragraphs.join('\n\n');

  it('is several messages, each a step of its own: a retry goes on after the last that was taken', async () => {
    telegram.next(take, fiveHundred, take, fiveHundred);
    const id = await fixture.answered(long, { deliver: toTelegram() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    const shown = telegram.shownIn('1');
    expect(shown).toHaveLength(3);
    expect(shown.map((text) => /\(\d\/\d\)/.exec(text)?.[0])).toEqual(['(1/3)', '(2/3)', '(3/3)']);
    for (const paragraph of paragraphs) {
      expect([paragraph, shown.filter((text) => text.includes(paragraph)).length]).toEqual([paragraph, 1]);
    }
    const events = await fixture.deliveryEvents(id);
    expect(events.map(({ type }) => type.replace('delivery.', ''))).toEqual([
      ...['attempted', 'chunk-taken', 'failed'],
      ...['attempted', 'chunk-taken', 'failed'],
      ...['attempted', 'succeeded'],
    ]);
    expect(
      events
        .filter(({ type }) => type === 'delivery.chunk-taken')
        .map(({ data }) => [data.chunk, data.chunks]),
    ).toEqual([
      [1, 3],
      [2, 3],
    ]);
    expect(telegram.problems).toEqual([]);
  });

  it('of which one message may be there already: that one is sent again and marked, the others are not', async () => {
    telegram.next(take, cutOff);
    const id = await fixture.answered(long, { deliver: toTelegram() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    const shown = telegram.shownIn('1');
    expect(shown.map((text) => text.startsWith(DUPLICATE_MARK))).toEqual([false, false, true, false]);
    expect(shown[2]).toBe(DUPLICATE_MARK + shown[1]);
  });

  it('that takes longer to cut than a claim leaves to begin in is sent all the same', async () => {
    const id = await fixture.answered('a text of some megabytes', { deliver: toTelegram() });
    const deliveries = sender({
      delivery: { request_timeout_seconds: 0.2 },
      targets: (targets) => ({
        ...targets,
        find: (name) => {
          const ready = targets.find(name);
          const compose: typeof ready.target.compose = (...given) => {
            for (const began = performance.now(); performance.now() - began < 800; );
            return ready.target.compose(...given);
          };
          return { ...ready, target: { ...ready.target, compose } };
        },
      }),
    });
    await fixture.hintUntil(deliveries, id, fixture.settled(id));
    expect(await fixture.types(id)).toEqual(['delivery.attempted', 'delivery.succeeded']);
  });

  it('sent by two replicas at once is there once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 6 }, (_, n) => fixture.answered(long, { deliver: toTelegram(`${n + 1}`) })),
    );
    const replicas = ['delivery', 'delivery-2'].map((name) => sender({ name }));
    await Promise.all(replicas.map((replica) => fixture.hintUntil(replica, ids, fixture.settled(...ids))));
    // A starved sender may not hear an answer in time, and says so on the next: that is no second sender.
    const unmarked = (chat: string) =>
      telegram.shownIn(chat).filter((text) => !text.includes(DUPLICATE_MARK));
    for (const [n] of ids.entries()) expect(unmarked(`${n + 1}`)).toHaveLength(3);
  });

  it('goes on elsewhere when its sender is going down', async () => {
    const id = await fixture.answered(long, { deliver: toTelegram() });
    const first = sender({ perChat: { sends: 1, seconds: 0.2 } });
    await first.handle({ stream_id: id, version: 0 });
    await first.drain(Date.now() + 10_000, new AbortController().signal);
    expect(telegram.shownIn('1')).toHaveLength(1);
    await fixture.hintUntil(sender({ name: 'delivery-2' }), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toHaveLength(3);
    expect(telegram.shownIn('1').filter((text) => text.includes(DUPLICATE_MARK))).toEqual([]);
  });
});

describe('an outcome that is not known', () => {
  it('at a platform with neither idempotency nor look-up is made up for, marked', async () => {
    telegram.next(cutOff);
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['hello', `${DUPLICATE_MARK}hello`]);
  });

  it('there again and again, as when it is down and takes requests without an answer: it is had when it is back', async () => {
    telegram.next({ kind: 'hang' }, { kind: 'hang' });
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual([`${DUPLICATE_MARK}hello`]);
    expect(await fixture.types(id)).toEqual([
      ...['delivery.attempted', 'delivery.failed'],
      ...['delivery.attempted', 'delivery.failed'],
      ...['delivery.attempted', 'delivery.succeeded'],
    ]);
  });

  it('there to the end of the schedule is dead with the reason; who asks for it again gets one more, marked', async () => {
    telegram.next(cutOff, cutOff, cutOff);
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    const deliveries = sender();
    await fixture.hintUntil(deliveries, id, fixture.settled(id));
    const marked = `${DUPLICATE_MARK}hello`;
    expect(telegram.shownIn('1')).toEqual(['hello', marked, marked]);
    expect(await lastReason(id)).toContain('attempt 3 was the last of the schedule');
    await fixture.put(id, { type: 'retry-delivery', output: 4, by: 'api' });
    await fixture.hintUntil(deliveries, id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['hello', marked, marked, marked]);
    expect(await fixture.types(id)).toContain('delivery.succeeded');
  });

  /** Senders that claimed it and died. */
  const died = async (id: SessionId, times: number) => {
    for (let attempt = 1; attempt <= times; attempt += 1) {
      const { state } = await fixture.sessions.load(id);
      const now = Math.max(state.lastActivityAt, ...state.outputs.map(({ until }) => until));
      const claim = { sender: 'delivery-9#gone', deadlineSeconds: 0.05, now };
      await fixture.put(id, { type: 'attempt-delivery', output: 4, attempt, ...claim });
    }
  };

  it('of senders that died, one after the other, before they sent anything: it is not lost', async () => {
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    await died(id, 2);
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual([`${DUPLICATE_MARK}hello`]);
  });

  it('of every sender so far: it is what kills them, and is given up, whatever the target', async () => {
    for (const [deliver, platform] of [
      [toTelegram(), () => telegram.messages],
      [toMatrix(), () => matrix.events],
    ] as const) {
      const id = await fixture.answered('hello', { deliver });
      await died(id, 6);
      await fixture.hintUntil(sender(), id, fixture.settled(id));
      expect(platform()).toEqual([]);
      expect(await fixture.types(id)).toEqual([
        ...Array.from({ length: 6 }, () => 'delivery.attempted'),
        'delivery.dead',
      ]);
      expect(await lastReason(id)).toContain('not sent again unless you ask');
    }
  });

  it('at a platform that can be looked up: found is delivered, and there is one', async () => {
    github.next(cutOff);
    const id = await fixture.answered('a review', { deliver: toGithub() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(github.comments).toHaveLength(1);
    const last = (await fixture.deliveryEvents(id)).at(-1);
    expect(last).toMatchObject({ type: 'delivery.succeeded', data: { attempt: 2 } });
    expect(last?.data.receipt).not.toBeNull();
  });

  it('there, absent: it is sent again, unmarked, as often as the schedule has attempts', async () => {
    github.next({ kind: 'hang' }, { kind: 'hang' });
    const id = await fixture.answered('a review', { deliver: toGithub() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).not.toContain(DUPLICATE_MARK);
  });

  it('at a platform with idempotency is sent again silently, and there is one', async () => {
    matrix.next(cutOff, cutOff);
    const id = await fixture.answered('hello', { deliver: toMatrix() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(matrix.events).toHaveLength(1);
    expect(JSON.stringify(matrix.events)).not.toContain(DUPLICATE_MARK.trim());
    expect(await fixture.types(id)).toContain('delivery.succeeded');
  });
});

describe('interim: edit', () => {
  it('is one status message that is edited, then the answer; the next turn has its own', async () => {
    const id = await fixture.running({ deliver: toTelegram(), interim: 'edit' });
    await fixture.put(id, { type: 'request-turn', source: 'message', input: 'more', deliveryId: null });
    await fixture.put(id, status(1, 'one'), status(2, 'two'), status(3, 'three'), final('the answer'));
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    await fixture.put(
      id,
      { type: 'start-run', generation: 2, turn: 2, runner: 'r', resumed: false, attempt: 1, takeover: false },
      status(1, 'four', 2),
      status(2, 'five', 2),
      final('more', 2),
    );
    // Another sender: where the status message is stands in the log, not in a process.
    await fixture.hintUntil(sender({ name: 'delivery-2' }), id, fixture.settled(id));
    expect(telegram.messages.map(({ shown, edits }) => [shown, edits])).toEqual([
      ['three', 2],
      ['the answer', 0],
      ['five', 1],
      ['more', 0],
    ]);
    expect(telegram.problems).toEqual([]);
  });

  it('sends a new one where somebody deleted it', async () => {
    const id = await fixture.running({ deliver: toTelegram(), interim: 'edit' });
    await fixture.put(id, status(1, 'one'));
    const deliveries = sender();
    await fixture.hintUntil(deliveries, id, fixture.settled(id));
    telegram.delete(1);
    await fixture.put(id, status(2, 'two'));
    await fixture.hintUntil(deliveries, id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['two']);
    expect((await fixture.types(id)).filter((type) => type === 'delivery.succeeded')).toHaveLength(2);
  });

  it('an edit whose answer did not come is made again, and there is nothing to mark', async () => {
    const id = await fixture.running({ deliver: toTelegram(), interim: 'edit' });
    await fixture.put(id, status(1, 'one'), status(2, 'two'));
    telegram.next(take, cutOff);
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['two']);
  });
});

describe('a fallback target', () => {
  it('gets what the first refused for good, recorded as such, from its first chunk on', async () => {
    const id = await fixture.answered('hello', { deliver: toTelegram('403'), fallback: toSink() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(sink.answersOf(id)).toEqual(['hello']);
    expect(await fixture.deliveryEvents(id)).toMatchObject([
      { type: 'delivery.attempted', data: { target: 'telegram', via: 'target' } },
      { type: 'delivery.dead', data: { reason: expect.stringContaining('bot was blocked') } },
      { type: 'delivery.attempted', data: { target: 'http', via: 'fallback_target' } },
      { type: 'delivery.succeeded' },
    ]);
  });

  it('gets what waits for one that is down, when the schedule would be over, although no attempt was spent', async () => {
    telegram.behave(fiveHundred);
    const deliveries = sender({
      delivery: { retry_schedule_seconds: [0.3, 0.3] },
      limits: { circuit: { failures: 1, firstPauseMs: 60_000, lastPauseMs: 60_000, staleMs: 600_000 } },
    });
    const first = await fixture.answered('it is down', { deliver: toTelegram('1') });
    await deliveries.handle({ stream_id: first, version: 0 });
    await eventually(async () => (await fixture.types(first)).includes('delivery.failed'));
    const stays = await fixture.answered('I wait', { deliver: toTelegram('2') });
    const goes = await fixture.answered('I do not', { deliver: toTelegram('3'), fallback: toSink() });
    for (const id of [stays, goes]) await deliveries.handle({ stream_id: id, version: 0 });
    expect([deliveries.waiting, await fixture.types(goes)]).toEqual([2, []]);
    await fixture.hintUntil(deliveries, [stays, goes], fixture.settled(goes));
    expect(sink.answersOf(goes)).toEqual(['I do not']);
    expect(await fixture.deliveryEvents(goes)).toMatchObject([
      { type: 'delivery.dead', data: { attempt: 0, reason: expect.stringContaining('is down') } },
      { type: 'delivery.attempted', data: { via: 'fallback_target' } },
      { type: 'delivery.succeeded' },
    ]);
    expect(await fixture.types(stays)).toEqual([]);
  });

  it('is never taken where none is configured', async () => {
    const id = await fixture.answered('hello', { deliver: toTelegram('403') });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(sink.received).toEqual([]);
    expect(await fixture.types(id)).toEqual(['delivery.attempted', 'delivery.dead']);
  });
});

describe('waits that the platform asks for', () => {
  it('hold all of the chat and nothing else, and spend no attempt', async () => {
    const flood = {
      ok: false,
      error_code: 429,
      description: 'Too Many Requests',
      parameters: { retry_after: 1 },
    };
    telegram.next({ kind: 'answer', answer: { status: 429, body: flood } });
    const deliveries = sender({ delivery: { retry_schedule_seconds: [] } });
    const first = await fixture.answered('first', { deliver: toTelegram('1') });
    await deliveries.handle({ stream_id: first, version: 0 });
    await eventually(async () => (await fixture.types(first)).includes('delivery.failed'));
    const since = performance.now();
    const behind = await fixture.answered('behind', { deliver: toTelegram('1') });
    const beside = await fixture.answered('beside', { deliver: toTelegram('2') });
    for (const id of [behind, beside]) await deliveries.handle({ stream_id: id, version: 0 });
    await eventually(() => telegram.shownIn('2').length === 1);
    expect([await fixture.types(behind), telegram.requests.length]).toEqual([[], 2]);
    await fixture.hintUntil(deliveries, [first, behind], fixture.settled(first, behind));
    expect(performance.now() - since).toBeGreaterThan(900);
    expect(telegram.shownIn('1').sort()).toEqual(['behind', 'first']);
    expect((await fixture.types(behind)).sort()).toEqual(['delivery.attempted', 'delivery.succeeded']);
  });

  it('rates of a chat are kept across sessions and chunks', async () => {
    const sentAt: number[] = [];
    const deliveries = sender({
      perChat: { sends: 1, seconds: 0.15 },
      targets: (targets) => ({
        ...targets,
        find: (name) => {
          const ready = targets.find(name);
          const send: typeof ready.target.send = (request) => {
            sentAt.push(performance.now());
            return ready.target.send(request);
          };
          return {
            ...ready,
            target: { ...ready.target, limits: { perChat: { sends: 1, seconds: 0.15 } }, send },
          };
        },
      }),
    });
    const ids = [
      await fixture.answered('short', { deliver: toTelegram() }),
      await fixture.answered('word '.repeat(1_500), { deliver: toTelegram() }),
      await fixture.answered('short too', { deliver: toTelegram() }),
    ];
    await fixture.hintUntil(deliveries, ids, fixture.settled(...ids));
    expect(sentAt).toHaveLength(4);
    // Turns are 150 ms apart; a request may begin some time after its own on a busy machine. Without turns all take some 15 ms.
    expect((sentAt.at(-1) ?? 0) - (sentAt[0] ?? 0)).toBeGreaterThan(300);
  });
});

describe('a target that is down', () => {
  it('keeps nothing past its max_age_seconds that was tried, and has not to wait for its turn to say so', async () => {
    telegram.behave(fiveHundred);
    const deliveries = sender({
      delivery: { retry_schedule_seconds: [0.1, 0.1, 0.1], max_age_seconds: 1 },
      limits: { circuit: { failures: 2, firstPauseMs: 60_000, lastPauseMs: 60_000, staleMs: 600_000 } },
    });
    const ids = await Promise.all(
      ['1', '2'].map((chat) => fixture.answered('too late', { deliver: toTelegram(chat) })),
    );
    await fixture.hintUntil(deliveries, ids, () => telegram.requests.length === 2);
    const untried = await fixture.answered('I wait', { deliver: toTelegram('3') });
    await fixture.hintUntil(deliveries, [...ids, untried], fixture.settled(...ids));
    for (const id of ids) {
      expect(await fixture.deliveryEvents(id)).toMatchObject([
        { type: 'delivery.attempted' },
        { type: 'delivery.failed' },
        { type: 'delivery.dead', data: { attempt: 1, reason: expect.stringContaining('max_age_seconds') } },
      ]);
    }
    expect(await fixture.types(untried)).toEqual([]);
  });

  it('while 300 sessions wait is asked now and then, others never wait, and when it is back all arrive in order', async () => {
    const { port } = telegram;
    await telegram.stop();
    const deliveries = sender({
      delivery: {
        retry_schedule_seconds: [0.2, 0.2, 0.2, 0.5, 0.5, 0.5, 1, 1],
        // When it is back 64 at once are sent to it: on a busy machine none should be taken for unanswered.
        request_timeout_seconds: 10,
      },
      limits: { circuit: { failures: 5, firstPauseMs: 100, lastPauseMs: 250, staleMs: 600_000 } },
    });
    const ids = await Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        const id = await fixture.running({ deliver: toTelegram(`${n + 1}`) });
        await fixture.put(
          id,
          { type: 'request-turn', source: 'message', input: 'more', deliveryId: null },
          final(`first of ${n}`),
          {
            type: 'start-run',
            generation: 2,
            turn: 2,
            runner: 'r',
            resumed: false,
            attempt: 1,
            takeover: false,
          },
          final(`second of ${n}`, 2),
        );
        return id;
      }),
    );
    const lookAtAll = async () => {
      for (const id of ids) await deliveries.handle({ stream_id: id, version: 0 });
    };
    await lookAtAll();
    await eventually(() => deliveries.waiting > 250);
    const others: number[] = [];
    const until = performance.now() + 1_500;
    while (performance.now() < until) {
      const asked = performance.now();
      const id = await fixture.answered('elsewhere', { deliver: toSink() });
      await deliveries.handle({ stream_id: id, version: 4 });
      await eventually(() => sink.answersOf(id).length === 1);
      others.push(performance.now() - asked);
      await lookAtAll();
    }
    expect(Math.max(...others)).toBeLessThan(1_000);
    const attempts = async () =>
      (await Promise.all(ids.map((id) => fixture.types(id)))).map(
        (types) => types.filter((type) => type === 'delivery.attempted').length,
      );
    // Five to find out (a few more were under way by then), and a probe per pause: not one for each that waits.
    const spent = await attempts();
    expect(spent.reduce((sum, n) => sum + n, 0)).toBeLessThan(100);
    expect(spent.filter((n) => n === 0).length).toBeGreaterThan(200);

    telegram = await startTelegram({ token: TOKEN, port });
    await fixture.hintUntil(
      deliveries,
      ids,
      () => deliveries.waiting === 0 && telegram.messages.length >= 600,
    );
    await fixture.hintUntil(deliveries, ids, fixture.settled(...ids));
    for (const n of ids.keys()) {
      expect(telegram.shownIn(`${n + 1}`)).toEqual([`first of ${n}`, `second of ${n}`]);
    }
  });
});

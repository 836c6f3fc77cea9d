import type { DeliveryTarget, SessionId } from '@angelia/contracts';
import { newSessionId } from '@angelia/sessions';
import {
  eventually,
  type GithubStandIn,
  type MatrixStandIn,
  type Sink,
  type SmtpStandIn,
  startGithub,
  startMatrix,
  startSink,
  startSmtp,
  startTelegram,
  TEST_SINK_SECRET,
  type TelegramStandIn,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Rate } from '../targets/target.ts';
import {
  type DeliveryFixture,
  final,
  HURRIED,
  openDeliveryFixture,
  type SenderOptions,
  status,
} from '../testing/delivery-fixture.ts';
import { DUPLICATE_MARK } from '../text/cut/chunk.ts';

// What the core does for every platform, shown with platforms that differ: Telegram (no idempotency, cuts long messages,
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

/** Without Telegram's own rate, which would make tests slow. Tests about rates set theirs. */
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

describe('the mails of a conversation', () => {
  let smtp: SmtpStandIn;
  beforeEach(async () => {
    smtp = await startSmtp({ tls: 'none' });
  });
  afterEach(() => smtp.stop());

  const mailer = () =>
    sender({
      settings: { email: { host: '127.0.0.1', port: smtp.port, security: 'none', from: 'bot@example.com' } },
    });
  const toMail = (address = 'a@example.com') => to('email', { to: [address], subject: 'a subject' });
  const threads = () =>
    smtp.mails.map(({ mail }) => [
      mail.messageId,
      mail.headers.find(({ key }) => key === 'in-reply-to')?.value,
      mail.headers.find(({ key }) => key === 'references')?.value,
    ]);
  const continuing = async (continues: SessionId, deliver = toMail()) => {
    const id = newSessionId();
    await fixture.put(
      id,
      {
        type: 'create-session',
        route: 'hook',
        event: 'push',
        deliveryId: `d-${id}`,
        title: 'a continuation',
        agent: 'default',
        deliver,
        interim: 'message',
        input: 'more',
        continues,
      },
      { type: 'start-run', generation: 1, turn: 1, runner: 'r', resumed: false, attempt: 1, takeover: false },
      final('continued'),
    );
    return id;
  };
  const delivered = async (id: SessionId) => {
    await fixture.hintUntil(mailer(), id, fixture.settled(id));
    return id;
  };

  it('refer to each other, also over continuations, and never to a mail that was not sent', async () => {
    const first = await fixture.running({ deliver: toMail() });
    await fixture.put(first, status(1, 'working'), final('done'));
    await delivered(first);
    const second = await delivered(await continuing(first));
    await delivered(await continuing(second));
    const ids = smtp.mails.map(({ mail }) => mail.messageId);
    expect(threads()).toEqual([
      [ids[0], undefined, undefined],
      [ids[1], ids[0], ids[0]],
      [ids[2], ids[1], `${ids[0]} ${ids[1]}`],
      [ids[3], ids[2], ids[2]],
    ]);
  });

  it('begin anew for another recipient, and if the session before is gone', async () => {
    const first = await fixture.answered('done', { deliver: toMail() });
    await delivered(first);
    await delivered(await continuing(first, toMail('b@example.com')));
    await delivered(await continuing(newSessionId()));
    expect(threads().map(([, parent]) => parent)).toEqual([undefined, undefined, undefined]);
  });
});

describe('a long answer', () => {
  const paragraphs = Array.from({ length: 150 }, (_, n) => `Paragraph ${n}: ${'word '.repeat(12)}`.trim());
  const long = paragraphs.join('\n\n');

  it('is several messages, each recorded: a retry continues after the last one that was taken', async () => {
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

  it('with one message that may be there already: only that one is sent again, marked', async () => {
    telegram.next(take, cutOff);
    const id = await fixture.answered(long, { deliver: toTelegram() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    const shown = telegram.shownIn('1');
    expect(shown.map((text) => text.startsWith(DUPLICATE_MARK))).toEqual([false, false, true, false]);
    expect(shown[2]).toBe(DUPLICATE_MARK + shown[1]);
  });

  it('that takes longer to cut than a claim leaves to begin is sent all the same', async () => {
    const id = await fixture.answered('a text of some megabytes', { deliver: toTelegram() });
    const dispatcher = sender({
      // A request may begin within 2 s of its claim.
      delivery: { request_timeout_seconds: 6 },
      targets: (targets) => ({
        ...targets,
        find: (name) => {
          const ready = targets.find(name);
          const compose: typeof ready.target.compose = (...given) => {
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
            return ready.target.compose(...given);
          };
          return { ...ready, target: { ...ready.target, compose } };
        },
      }),
    });
    await fixture.hintUntil(dispatcher, id, fixture.settled(id));
    expect(await fixture.types(id)).toEqual(['delivery.attempted', 'delivery.succeeded']);
  });

  it('that two replicas want to send arrives once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 6 }, (_, n) => fixture.answered(long, { deliver: toTelegram(`${n + 1}`) })),
    );
    const replicas = ['delivery', 'delivery-2'].map((name) => sender({ name }));
    await Promise.all(replicas.map((replica) => fixture.hintUntil(replica, ids, fixture.settled(...ids))));
    // On a busy machine a sender may miss an answer and mark its next attempt: that is not a second sender.
    const unmarked = (chat: string) =>
      telegram.shownIn(chat).filter((text) => !text.includes(DUPLICATE_MARK));
    for (const [n] of ids.entries()) expect(unmarked(`${n + 1}`)).toHaveLength(3);
  });

  it('is continued by another replica if its sender goes down', async () => {
    const id = await fixture.answered(long, { deliver: toTelegram() });
    // It goes down long before the turn of the second message.
    const first = sender({ perChat: { sends: 1, seconds: 5 } });
    await first.handle({ stream_id: id, version: 0 });
    await first.drain(Date.now() + 10_000, new AbortController().signal);
    expect(telegram.shownIn('1')).toHaveLength(1);
    await fixture.hintUntil(sender({ name: 'delivery-2' }), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toHaveLength(3);
    expect(telegram.shownIn('1').filter((text) => text.includes(DUPLICATE_MARK))).toEqual([]);
  });
});

describe('an unknown outcome', () => {
  it('at a platform with neither idempotency nor look-up: sent again, marked', async () => {
    telegram.next(cutOff);
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['hello', `${DUPLICATE_MARK}hello`]);
  });

  it('there, several times, because the platform is down and takes requests without an answer: it arrives when the platform is back', async () => {
    telegram.next({ kind: 'hang' }, { kind: 'hang' });
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    await fixture.hintUntil(sender({ delivery: HURRIED }), id, fixture.failed(id, 2));
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual([`${DUPLICATE_MARK}hello`]);
    expect(await fixture.types(id)).toEqual([
      ...['delivery.attempted', 'delivery.failed'],
      ...['delivery.attempted', 'delivery.failed'],
      ...['delivery.attempted', 'delivery.succeeded'],
    ]);
  });

  it('there, to the end of the schedule: dead with the reason; a requested retry sends one more, marked', async () => {
    telegram.next(cutOff, cutOff, cutOff);
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    const dispatcher = sender();
    await fixture.hintUntil(dispatcher, id, fixture.settled(id));
    const marked = `${DUPLICATE_MARK}hello`;
    expect(telegram.shownIn('1')).toEqual(['hello', marked, marked]);
    expect(await lastReason(id)).toContain('attempt 3 was the last of the schedule');
    await fixture.put(id, { type: 'retry-delivery', output: 4, by: 'api' });
    await fixture.hintUntil(dispatcher, id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['hello', marked, marked, marked]);
    expect(await fixture.types(id)).toContain('delivery.succeeded');
  });

  /** As if senders claimed the output and died. */
  const died = async (id: SessionId, times: number) => {
    for (let attempt = 1; attempt <= times; attempt += 1) {
      const { state } = await fixture.sessions.load(id);
      const now = Math.max(state.lastActivityAt, ...state.outputs.map(({ until }) => until));
      const claim = { sender: 'delivery-9#gone', deadlineSeconds: 0.05, now };
      await fixture.put(id, { type: 'attempt-delivery', output: 4, attempt, ...claim });
    }
  };

  it('after several senders died before they sent anything: the output is not lost', async () => {
    const id = await fixture.answered('hello', { deliver: toTelegram() });
    await died(id, 2);
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual([`${DUPLICATE_MARK}hello`]);
  });

  it('after every sender died: the output itself kills them, and is given up, whatever the target', async () => {
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
      expect(await lastReason(id)).toContain('sent again only if you ask');
    }
  });

  it('at a platform that can be looked up, found: delivered, and there is one', async () => {
    github.next(cutOff);
    const id = await fixture.answered('a review', { deliver: toGithub() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(github.comments).toHaveLength(1);
    const last = (await fixture.deliveryEvents(id)).at(-1);
    expect(last).toMatchObject({ type: 'delivery.succeeded', data: { attempt: 2 } });
    expect(last?.data.receipt).not.toBeNull();
  });

  it('there, absent: sent again, unmarked, as often as the schedule allows', async () => {
    github.next({ kind: 'hang' }, { kind: 'hang' });
    const id = await fixture.answered('a review', { deliver: toGithub() });
    await fixture.hintUntil(sender({ delivery: HURRIED }), id, fixture.failed(id, 2));
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(github.comments).toHaveLength(1);
    expect(github.comments[0]?.body).not.toContain(DUPLICATE_MARK);
  });

  it('at a platform with idempotency: sent again silently, and there is one', async () => {
    matrix.next(cutOff, cutOff);
    const id = await fixture.answered('hello', { deliver: toMatrix() });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(matrix.events).toHaveLength(1);
    expect(JSON.stringify(matrix.events)).not.toContain(DUPLICATE_MARK.trim());
    expect(await fixture.types(id)).toContain('delivery.succeeded');
  });
});

describe('interim: edit', () => {
  it('makes one status message that is edited, then the answer; the next turn has its own', async () => {
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
    // Another sender: the log says where the status message is, not a process.
    await fixture.hintUntil(sender({ name: 'delivery-2' }), id, fixture.settled(id));
    expect(telegram.messages.map(({ shown, edits }) => [shown, edits])).toEqual([
      ['three', 2],
      ['the answer', 0],
      ['five', 1],
      ['more', 0],
    ]);
    expect(telegram.problems).toEqual([]);
  });

  it('sends a new message if somebody deleted the old one', async () => {
    const id = await fixture.running({ deliver: toTelegram(), interim: 'edit' });
    await fixture.put(id, status(1, 'one'));
    const dispatcher = sender();
    await fixture.hintUntil(dispatcher, id, fixture.settled(id));
    telegram.delete(1);
    await fixture.put(id, status(2, 'two'));
    await fixture.hintUntil(dispatcher, id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['two']);
    expect((await fixture.types(id)).filter((type) => type === 'delivery.succeeded')).toHaveLength(2);
  });

  it('repeats an edit whose answer was lost, without a mark', async () => {
    const id = await fixture.running({ deliver: toTelegram(), interim: 'edit' });
    await fixture.put(id, status(1, 'one'), status(2, 'two'));
    telegram.next(take, cutOff);
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(telegram.shownIn('1')).toEqual(['two']);
  });
});

describe('a fallback target', () => {
  it('gets what the first target refused permanently, recorded as such, from the first chunk on', async () => {
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

  it('gets what waits for a target that is down, once the schedule would be over, although no attempt was spent', async () => {
    telegram.behave(fiveHundred);
    const dispatcher = sender({
      delivery: { retry_schedule_seconds: [1.5, 1.5] },
      limits: { circuit: { failures: 1, firstPauseMs: 60_000, lastPauseMs: 60_000, staleMs: 600_000 } },
    });
    const first = await fixture.answered('it is down', { deliver: toTelegram('1') });
    await dispatcher.handle({ stream_id: first, version: 0 });
    await eventually(async () => (await fixture.types(first)).includes('delivery.failed'));
    const stays = await fixture.answered('I wait', { deliver: toTelegram('2') });
    const goes = await fixture.answered('I do not', { deliver: toTelegram('3'), fallback: toSink() });
    for (const id of [stays, goes]) await dispatcher.handle({ stream_id: id, version: 0 });
    expect([dispatcher.waiting, await fixture.types(goes)]).toEqual([2, []]);
    await fixture.hintUntil(dispatcher, [stays, goes], fixture.settled(goes));
    expect(sink.answersOf(goes)).toEqual(['I do not']);
    expect(await fixture.deliveryEvents(goes)).toMatchObject([
      { type: 'delivery.dead', data: { attempt: 0, reason: expect.stringContaining('is down') } },
      { type: 'delivery.attempted', data: { via: 'fallback_target' } },
      { type: 'delivery.succeeded' },
    ]);
    expect(await fixture.types(stays)).toEqual([]);
  });

  it('is never used if none is configured', async () => {
    const id = await fixture.answered('hello', { deliver: toTelegram('403') });
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(sink.received).toEqual([]);
    expect(await fixture.types(id)).toEqual(['delivery.attempted', 'delivery.dead']);
  });
});

describe('waits that the platform asks for', () => {
  it('hold back the whole chat and nothing else, and spend no attempt', async () => {
    const flood = {
      ok: false,
      error_code: 429,
      description: 'Too Many Requests',
      parameters: { retry_after: 3 },
    };
    telegram.next({ kind: 'answer', answer: { status: 429, body: flood } });
    const dispatcher = sender({ delivery: { retry_schedule_seconds: [] } });
    const first = await fixture.answered('first', { deliver: toTelegram('1') });
    const since = performance.now();
    await dispatcher.handle({ stream_id: first, version: 0 });
    await eventually(async () => (await fixture.types(first)).includes('delivery.failed'));
    const behind = await fixture.answered('behind', { deliver: toTelegram('1') });
    const beside = await fixture.answered('beside', { deliver: toTelegram('2') });
    for (const id of [behind, beside]) await dispatcher.handle({ stream_id: id, version: 0 });
    await eventually(() => telegram.shownIn('2').length === 1);
    expect([await fixture.types(behind), telegram.requests.length]).toEqual([[], 2]);
    await fixture.hintUntil(dispatcher, [first, behind], fixture.settled(first, behind));
    const [shown] = telegram.messages.filter(({ chatId }) => chatId === '1');
    expect((shown?.at ?? 0) - since).toBeGreaterThan(2_900);
    expect(telegram.shownIn('1').sort()).toEqual(['behind', 'first']);
    expect((await fixture.types(behind)).sort()).toEqual(['delivery.attempted', 'delivery.succeeded']);
  });

  it('rates of a chat hold across sessions and chunks', async () => {
    const sentAt: number[] = [];
    const dispatcher = sender({
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
    await fixture.hintUntil(dispatcher, ids, fixture.settled(...ids));
    expect(sentAt).toHaveLength(4);
    // Turns are 150 ms apart. On a busy machine a request may begin later than its turn. Without turns all take about 15 ms.
    expect((sentAt.at(-1) ?? 0) - (sentAt[0] ?? 0)).toBeGreaterThan(300);
  });
});

describe('a target that is down', () => {
  it('keeps no output that was tried past its max_age_seconds, and gives it up without waiting for its turn', async () => {
    // Both fail at the same moment, so that on a busy machine none is tried again before the circuit opens.
    telegram.behave({ ...fiveHundred, after: eventually(() => telegram.requests.length === 2) });
    const dispatcher = sender({
      delivery: { retry_schedule_seconds: [0.1, 0.1, 0.1], max_age_seconds: 6 },
      limits: { circuit: { failures: 2, firstPauseMs: 60_000, lastPauseMs: 60_000, staleMs: 600_000 } },
    });
    const ids = await Promise.all(
      ['1', '2'].map((chat) => fixture.answered('too late', { deliver: toTelegram(chat) })),
    );
    for (const id of ids) await dispatcher.handle({ stream_id: id, version: 0 });
    for (const id of ids) {
      await eventually(async () => (await fixture.types(id)).includes('delivery.failed'));
    }
    const untried = await fixture.answered('I wait', { deliver: toTelegram('3') });
    await fixture.hintUntil(dispatcher, [...ids, untried], fixture.settled(...ids));
    for (const id of ids) {
      expect(await fixture.deliveryEvents(id)).toMatchObject([
        { type: 'delivery.attempted' },
        { type: 'delivery.failed' },
        { type: 'delivery.dead', data: { attempt: 1, reason: expect.stringContaining('max_age_seconds') } },
      ]);
    }
    expect(await fixture.types(untried)).toEqual([]);
  });

  it('is probed now and then while 300 sessions wait, others never wait, and when it is back all arrive in order', async () => {
    const { port } = telegram;
    await telegram.stop();
    const dispatcher = sender({
      delivery: {
        retry_schedule_seconds: [0.2, 0.2, 0.2, 0.5, 0.5, 0.5, 1, 1],
        // When it is back it gets 64 requests at once. On a busy machine none of them should time out.
        request_timeout_seconds: 60,
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
      for (const id of ids) await dispatcher.handle({ stream_id: id, version: 0 });
    };
    await lookAtAll();
    await eventually(() => dispatcher.waiting > 250);
    // Others get through while all of those wait, and are not put behind them.
    const until = performance.now() + 1_500;
    while (performance.now() < until) {
      const id = await fixture.answered('elsewhere', { deliver: toSink() });
      await dispatcher.handle({ stream_id: id, version: 4 });
      await eventually(() => sink.answersOf(id).length === 1);
      expect(dispatcher.waiting).toBeGreaterThan(200);
      await lookAtAll();
    }
    const attempts = async () =>
      (await Promise.all(ids.map((id) => fixture.types(id)))).map(
        (types) => types.filter((type) => type === 'delivery.attempted').length,
      );
    // Five to find out (a few more were in flight by then), and a probe per pause: not one for each waiting session.
    const spent = await attempts();
    expect(spent.reduce((sum, n) => sum + n, 0)).toBeLessThan(100);
    expect(spent.filter((n) => n === 0).length).toBeGreaterThan(200);

    telegram = await startTelegram({ token: TOKEN, port });
    await fixture.hintUntil(
      dispatcher,
      ids,
      () => dispatcher.waiting === 0 && telegram.messages.length >= 600,
    );
    await fixture.hintUntil(dispatcher, ids, fixture.settled(...ids));
    for (const n of ids.keys()) {
      expect(telegram.shownIn(`${n + 1}`)).toEqual([`first of ${n}`, `second of ${n}`]);
    }
  });
});

import type { EventData, SessionFact } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { type Given, given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  attempted,
  chunkTaken,
  created,
  email,
  ended,
  failed,
  interim,
  modelAsked,
  runStarted,
  telegram,
  turn,
} from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';
import { fact } from '../decision.ts';
import { deliveryPlan } from './delivery-plan.ts';

const running = (data: Partial<EventData<'session.created'>> = {}): SessionFact[] => [
  created(data),
  turn(1),
  runStarted(1),
];
/** Version 4: an interim status; 5: the answer; 6: the end. */
const STATUS = 4;
const ANSWER = 5;
const said = given([...running(), interim('Still working'), answered(), ended()]);
const onlyAnswer = given([...running(), answered(), ended()]);
const plan = (history: Given, now = history.now) => deliveryPlan(history.state, now);

const attempt = (output: number, n: number, now: number): SessionCommand => ({
  type: 'attempt-delivery',
  output,
  attempt: n,
  sender: 'delivery#1',
  deadlineSeconds: 30,
  now,
});
const succeed = (output: number, n = 1): SessionCommand => ({ type: 'succeed-delivery', output, attempt: n });
const giveUp = (output: number, n = 1, via: 'target' | 'fallback_target' = 'target'): SessionCommand => ({
  type: 'give-up-delivery',
  output,
  attempt: n,
  via,
  reason: 'chat gone',
});
const retry = (output: number): SessionCommand => ({ type: 'retry-delivery', output, by: 'api' });
const dead = (output: number, n = 1): SessionFact =>
  fact('delivery.dead', { output, attempt: n, reason: 'chat gone' });
const delivered = (output: number, n = 1): SessionFact =>
  fact('delivery.succeeded', { output, attempt: n, receipt: null });

describe('the delivery plan', () => {
  it('is nothing without outputs', () => {
    expect(plan(given(running()))).toEqual({ action: 'nothing' });
  });

  it('in-order-once: sends in log order, one at a time', () => {
    expect(plan(said)).toMatchObject({
      action: 'send',
      output: STATUS,
      attempt: 1,
      possibleDuplicate: false,
    });
    const sending = said.and([attempted(STATUS)]);
    expect(plan(sending)).toEqual({ action: 'wait', output: STATUS, until: sending.now + 30_000 });
    const next = sending.and([delivered(STATUS)]);
    expect(plan(next)).toMatchObject({ action: 'send', output: ANSWER, via: 'target', target: telegram });
    expect(plan(next.and([attempted(ANSWER), delivered(ANSWER)]))).toEqual({ action: 'nothing' });
  });

  it('A1: a status does not consume the delivery config of the answer', () => {
    const next = said.and([attempted(STATUS), delivered(STATUS)]);
    expect(plan(next)).toMatchObject({ target: telegram });
  });

  it('D5: an attempt past its deadline has an unknown outcome: the output is sent again, marked', () => {
    const sending = onlyAnswer.and([attempted(4)]);
    expect(plan(sending, sending.now + 29_999)).toMatchObject({ action: 'wait' });
    expect(plan(sending, sending.now + 30_000)).toMatchObject({
      action: 'send',
      attempt: 2,
      possibleDuplicate: true,
    });
  });

  it('the mark stays if the second attempt definitely fails', () => {
    const history = onlyAnswer.and([
      attempted(4),
      attempted(4, { attempt: 2, possible_duplicate: true }),
      failed(4, START, { attempt: 2 }),
    ]);
    expect(plan(history)).toMatchObject({ action: 'send', attempt: 3, possibleDuplicate: true });
  });

  it('a request without a response marks what follows', () => {
    const history = onlyAnswer.and([attempted(4), failed(4, START, { unknown: true })]);
    expect(plan(history)).toMatchObject({ action: 'send', attempt: 2, possibleDuplicate: true });
  });

  it('waits for the time of the retry and holds back later outputs', () => {
    const first = given([...running(), turn(2), answered('first')]);
    const history = first.and([
      attempted(5),
      failed(5, START + 60_000),
      runStarted(2, { turn: 2 }),
      answered('second', { turn: 2 }),
    ]);
    expect(plan(history)).toEqual({ action: 'wait', output: 5, until: START + 60_000 });
    expect(plan(history, START + 60_000)).toMatchObject({
      action: 'send',
      output: 5,
      attempt: 2,
      failures: 1,
    });
  });

  it('a flood wait does not use up the retry schedule', () => {
    const history = onlyAnswer.and([attempted(4), failed(4, START, { counts: false })]);
    expect(plan(history)).toMatchObject({ attempt: 2, failures: 0 });
  });

  it('D4: a silent answer is not delivered', () => {
    expect(plan(given([...running(), answered('[SILENT]', { silent: true }), ended()]))).toEqual({
      action: 'nothing',
    });
  });
});

describe('an output in several messages', () => {
  const sending = onlyAnswer.and([attempted(4)]);
  const chunk = (n: number, attemptNo = 1): SessionCommand => ({
    type: 'take-chunk',
    output: 4,
    attempt: attemptNo,
    chunk: n,
    chunks: 3,
    receipt: `m-${n}`,
    deadlineSeconds: 30,
  });

  it('is taken chunk by chunk, and each chunk renews the claim', () => {
    const one = sending.when(chunk(1)).then([chunkTaken(4, 1, { receipt: 'm-1' })]);
    expect(plan(one)).toEqual({ action: 'wait', output: 4, until: one.now + 30_000 });
    const two = one.when(chunk(2)).thenTypes(['delivery.chunk-taken']);
    two.when(succeed(4)).thenTypes(['delivery.succeeded']);
  });

  it('continues after the last taken chunk at the next attempt', () => {
    const history = sending.and([chunkTaken(4, 1), failed(4, START)]);
    expect(plan(history)).toMatchObject({ action: 'send', attempt: 2, taken: 1, possibleDuplicate: false });
    history
      .and([attempted(4, { attempt: 2 })])
      .when(chunk(2, 2))
      .thenTypes(['delivery.chunk-taken']);
  });

  it('is marked where it broke off, and not afterwards', () => {
    const died = sending.and([chunkTaken(4, 1)]);
    expect(plan(died, died.now + 30_000)).toMatchObject({ taken: 1, unknowns: 1, possibleDuplicate: true });
    const next = died.and([
      attempted(4, { attempt: 2, possible_duplicate: true }),
      chunkTaken(4, 2, { attempt: 2 }),
    ]);
    expect(plan(next.and([failed(4, START, { attempt: 2 })]))).toMatchObject({ taken: 2, unknowns: 0 });
  });

  it('is recorded once and in order, and only by the holder of the claim', () => {
    const one = sending.and([chunkTaken(4, 1)]);
    one.when(chunk(1)).thenNothing();
    one.when(chunk(3)).thenRefused('stale_attempt');
    sending.when(chunk(2)).thenRefused('stale_attempt');
    one.when({ ...chunk(2), chunks: 2 } as SessionCommand).thenRefused('stale_attempt');
    sending
      .and([attempted(4, { attempt: 2 })])
      .when(chunk(1))
      .thenRefused('stale_attempt');
    sending
      .and([delivered(4)])
      .when(chunk(1))
      .thenRefused('delivery_settled');
  });

  it('starts again at the fallback target, and when it comes back from there', () => {
    const history = given([...running({ fallback_target: email }), answered(), ended()]).and([
      attempted(4),
      chunkTaken(4, 1),
      dead(4),
    ]);
    expect(plan(history)).toMatchObject({ via: 'fallback_target', taken: 0, possibleDuplicate: false });
    const revived = history.and([
      attempted(4, { attempt: 2, via: 'fallback_target' }),
      dead(4, 2),
      fact('delivery.retry-requested', { output: 4, by: 'api' }),
    ]);
    // The first target already has a part of it.
    expect(plan(revived)).toMatchObject({ via: 'target', taken: 0, possibleDuplicate: true });
  });
});

describe('unknown outcomes', () => {
  it('are counted: expired claims and requests without a response', () => {
    const once = onlyAnswer.and([attempted(4), failed(4, START, { unknown: true })]);
    expect(plan(once)).toMatchObject({ unknowns: 1 });
    const twice = once.and([attempted(4, { attempt: 2, possible_duplicate: true })]);
    expect(plan(twice, twice.now + 30_000)).toMatchObject({ unknowns: 2 });
    // A definite failure is not counted.
    expect(plan(twice.and([failed(4, START, { attempt: 2 })]))).toMatchObject({ unknowns: 1 });
  });

  it('do not prevent a requested retry, which is marked', () => {
    const given2 = onlyAnswer.and([
      attempted(4),
      failed(4, START, { unknown: true }),
      attempted(4, { attempt: 2, possible_duplicate: true }),
      failed(4, START, { attempt: 2, unknown: true }),
      attempted(4, { attempt: 3, possible_duplicate: true }),
      dead(4, 3),
      fact('delivery.retry-requested', { output: 4, by: 'api' }),
    ]);
    expect(plan(given2)).toMatchObject({ unknowns: 1, possibleDuplicate: true });
  });
});

describe('interim statuses', () => {
  it('are dropped if the route switches them off; questions and answers are not', () => {
    const off = given([...running({ interim: 'off' }), interim('Still working'), answered()]);
    expect(plan(off)).toMatchObject({ action: 'drop', output: STATUS });
    const next = off
      .when({ type: 'drop-delivery', output: STATUS, now: off.now })
      .thenTypes(['delivery.dropped']);
    expect(plan(next)).toMatchObject({ action: 'send', output: ANSWER });
    const question = given([...running({ interim: 'off' }), modelAsked(['ask-1']), asked(START + 3_600_000)]);
    expect(plan(question)).toMatchObject({ action: 'send', kind: 'clarification' });
  });

  it('get their first attempt even if the answer exists', () => {
    expect(plan(said)).toMatchObject({ action: 'send', output: STATUS });
  });

  it('are dropped once that attempt failed and a later output exists, so that they never delay an answer', () => {
    const history = said.and([attempted(STATUS), failed(STATUS, START + 3_600_000)]);
    expect(plan(history)).toMatchObject({
      action: 'drop',
      output: STATUS,
      reason: 'a later output followed',
    });
  });

  it('are retried while there is no newer output', () => {
    const history = given([
      ...running(),
      interim('Still working'),
      attempted(STATUS),
      failed(STATUS, START + 60_000),
    ]);
    expect(plan(history)).toMatchObject({ action: 'wait' });
    expect(plan(history, START + 60_000)).toMatchObject({ action: 'send', output: STATUS, attempt: 2 });
  });

  it('are dropped if their turn ended silently', () => {
    const history = given([
      ...running(),
      interim('Still working'),
      attempted(STATUS),
      failed(STATUS, START + 60_000),
      answered('', { silent: true }),
    ]);
    expect(plan(history)).toMatchObject({ action: 'drop', reason: 'its turn is over' });
  });

  it('are sent once more after an unknown outcome', () => {
    const once = said.and([attempted(STATUS)]);
    expect(plan(once, once.now + 30_000)).toMatchObject({ action: 'send', output: STATUS, attempt: 2 });
    const twice = once.and([attempted(STATUS, { attempt: 2 })]);
    expect(plan(twice, twice.now + 30_000)).toMatchObject({ action: 'drop', output: STATUS });
  });
});

it('a question that was closed before it could be sent is dropped', () => {
  const history = given([
    ...running(),
    modelAsked(['ask-1']),
    asked(START + 3_600_000),
    fact('clarification.answered', { clarification_id: 'q-1', answer: 'x', by: 'api' }),
  ]);
  expect(plan(history)).toEqual({ action: 'drop', output: 5, reason: 'the question is closed' });
});

describe('dead deliveries', () => {
  it('hold back nothing, and can be revived', () => {
    const history = given([
      ...running(),
      turn(2),
      answered('first'),
      attempted(5),
      dead(5),
      runStarted(2, { turn: 2 }),
      answered('second', { turn: 2 }),
    ]);
    expect(plan(history)).toMatchObject({ action: 'send', output: 9 });
    const revived = history.when(retry(5)).thenTypes(['delivery.retry-requested']);
    expect(plan(revived)).toMatchObject({ action: 'send', output: 5, attempt: 2 });
    revived.when(retry(5)).thenNothing();
    // Still one at a time: it waits for the later one that is being sent.
    const meanwhile = history
      .and([attempted(9)])
      .when(retry(5))
      .thenTypes(['delivery.retry-requested']);
    expect(plan(meanwhile)).toMatchObject({ action: 'wait', output: 9 });
    meanwhile.when(attempt(5, 2, meanwhile.now)).thenRefused('not_next_output');
    expect(plan(meanwhile.and([delivered(9)]))).toMatchObject({ action: 'send', output: 5, attempt: 2 });
  });

  it('a status is not revived if a later output exists', () => {
    said
      .and([attempted(STATUS), dead(STATUS)])
      .when(retry(STATUS))
      .thenRefused('too_late');
  });

  it('A5: an output whose target cannot be resolved is dead without an attempt, and never sent elsewhere', () => {
    const history = onlyAnswer.when(giveUp(4, 0)).then([dead(4, 0)]);
    expect(plan(history)).toEqual({ action: 'nothing' });
    expect(history.state.outputs).toMatchObject([{ status: 'dead', reason: 'chat gone' }]);
  });

  it('go to the fallback target if there is one, with a retry schedule of its own, and are then dead', () => {
    const base = given([...running({ fallback_target: email }), answered(), ended()]);
    const failing = base.and([attempted(4), failed(4, START)]);
    const next = failing.when(giveUp(4)).then([dead(4)]);
    expect(plan(next)).toMatchObject({
      action: 'send',
      output: 4,
      attempt: 2,
      via: 'fallback_target',
      target: email,
      failures: 0,
    });
    next.when(giveUp(4)).thenRefused('stale_attempt');
    const sending = next
      .when(attempt(4, 2, next.now))
      .then([attempted(4, { attempt: 2, via: 'fallback_target', target: 'email' })]);
    const over = sending.when(giveUp(4, 2, 'fallback_target')).then([dead(4, 2)]);
    expect(plan(over)).toEqual({ action: 'nothing' });
    expect(plan(over.when(retry(4)).after)).toMatchObject({ via: 'target', attempt: 3 });
  });

  it('are marked at the fallback target if a retry leads there again and it may already have them', () => {
    const base = given([...running({ fallback_target: email }), answered(), ended()]);
    const atFallback = { attempt: 2, via: 'fallback_target', target: 'email' } as const;
    const there = base.and([attempted(4), dead(4), attempted(4, atFallback)]);
    const again = (history: Given) =>
      plan(history.and([dead(4, 2), fact('delivery.retry-requested', { output: 4, by: 'api' }), dead(4, 2)]));
    expect(again(there.and([failed(4, START, { unknown: true })]))).toMatchObject({
      via: 'fallback_target',
      possibleDuplicate: true,
    });
    expect(again(there)).toMatchObject({ via: 'fallback_target', possibleDuplicate: false });
  });

  it('a repeated give-up does not undo a retry', () => {
    const revived = onlyAnswer.and([attempted(4), dead(4)]).when(retry(4)).after;
    revived.when(giveUp(4)).thenRefused('stale_attempt');
  });
});

describe('recording deliveries', () => {
  it('the attempt is the claim: a second sender is refused', () => {
    const claimed = onlyAnswer.when(attempt(4, 1, onlyAnswer.now)).then([attempted(4)]);
    claimed.when(attempt(4, 1, claimed.now)).thenRefused('delivery_claimed');
    claimed.when(attempt(4, 1, claimed.now + 30_000)).thenRefused('stale_attempt');
    claimed
      .when(attempt(4, 2, claimed.now + 30_000))
      .then([attempted(4, { attempt: 2, possible_duplicate: true })]);
  });

  it('only the next output can be claimed', () => {
    said.when(attempt(ANSWER, 1, said.now)).thenRefused('not_next_output');
  });

  it('success settles it, once', () => {
    const done = onlyAnswer
      .and([attempted(4)])
      .when(succeed(4))
      .then([delivered(4)]);
    expect(done.state).toMatchObject({ delivered: 1, outputs: [] });
    done.when(succeed(4)).thenRefused('delivery_settled');
    done.when(giveUp(4)).thenRefused('delivery_settled');
    done.when(retry(4)).thenRefused('delivery_settled');
    done.when(retry(99)).thenRefused('unknown_output');
  });

  it('the success of an earlier attempt is accepted whenever it becomes known', () => {
    onlyAnswer
      .and([attempted(4), attempted(4, { attempt: 2 })])
      .when(succeed(4, 1))
      .thenTypes(['delivery.succeeded']);
    onlyAnswer
      .and([attempted(4)])
      .when(succeed(4, 2))
      .thenRefused('stale_attempt');
  });

  it('a failure is recorded once, and not by an earlier attempt', () => {
    const fail: SessionCommand = {
      type: 'fail-delivery',
      output: 4,
      attempt: 1,
      reason: '503',
      retryAt: START,
    };
    const after = onlyAnswer
      .and([attempted(4)])
      .when(fail)
      .then([failed(4, START)]);
    after.when(fail).thenNothing();
    after
      .and([attempted(4, { attempt: 2 })])
      .when(fail)
      .thenRefused('stale_attempt');
  });

  it('only outputs that the plan drops can be dropped', () => {
    onlyAnswer.when({ type: 'drop-delivery', output: 4, now: onlyAnswer.now }).thenRefused('not_next_output');
  });
});

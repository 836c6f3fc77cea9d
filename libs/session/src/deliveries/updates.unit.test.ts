import { describe, expect, it } from '@jest/globals';
import { given } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  attempted,
  created,
  ended,
  modelAsked,
  runStarted,
  turn,
} from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';
import { fact } from '../decision.ts';
import { agenda } from '../recovery/agenda.ts';
import { deliveryPlan } from './delivery-plan.ts';
import { updatePlan } from './update-plan.ts';

const QUESTION = 5;
const open = given([
  created(),
  turn(1),
  runStarted(1),
  modelAsked(['ask-1']),
  asked(Date.parse('2030-01-01T00:00:00Z')),
]);
const delivered = (receipt: string | null = '7/1') =>
  fact('delivery.succeeded', { output: QUESTION, attempt: 1, receipt });
const answer = fact('clarification.answered', { clarification_id: 'q-1', answer: 'Blue', by: 'chat' });
const shown = open.and([attempted(QUESTION, { buttons: true }), delivered()]);
const closed = shown.and([answer]);

const plan = (history: typeof open, now = history.now) => updatePlan(history.state, now);
const failed = (failures: number, counts = true): SessionCommand => ({
  type: 'fail-update',
  output: QUESTION,
  failures,
  reason: 'down',
  retryAt: closed.now + 60_000,
  counts,
});
const finished: SessionCommand = { type: 'finish-update', output: QUESTION, result: 'edited', reason: null };

describe('the update of a delivered question', () => {
  it('is due once the question is closed, and once only', () => {
    expect(plan(shown)).toEqual({ action: 'nothing' });
    expect(plan(closed)).toEqual({ action: 'update', output: QUESTION, failures: 0 });
    const done = closed.when(finished).thenTypes(['delivery.updated']);
    expect(plan(done)).toEqual({ action: 'nothing' });
    // Another sender made the same edit.
    done.when(finished).thenNothing();
    done.when(failed(0)).thenNothing();
  });

  it('is due too if the answer came before the receipt, and after the end of the session', () => {
    const fast = open.and([attempted(QUESTION, { buttons: true }), answer, delivered()]);
    expect(plan(fast)).toMatchObject({ action: 'update' });
    expect(plan(shown.and([ended({ outcome: 'cancelled' })]))).toMatchObject({ action: 'update' });
  });

  it('is none without buttons, without a receipt, and while nobody knows whether it was delivered', () => {
    expect(plan(open.and([attempted(QUESTION), delivered(), answer]))).toEqual({ action: 'nothing' });
    expect(plan(open.and([attempted(QUESTION, { buttons: true }), delivered(null), answer]))).toEqual({
      action: 'nothing',
    });
    expect(plan(open.and([attempted(QUESTION, { buttons: true }), answer]))).toEqual({ action: 'nothing' });
  });

  it('is tried again at its time; a flood wait does not use up the schedule, and a repeated failure counts once', () => {
    const once = closed.when(failed(0)).thenTypes(['delivery.update-failed']);
    expect(plan(once)).toEqual({ action: 'wait', until: closed.now + 60_000 });
    expect(plan(once, closed.now + 60_000)).toEqual({ action: 'update', output: QUESTION, failures: 1 });
    once.when(failed(0)).thenNothing();
    const flooded = closed.when(failed(0, false)).thenTypes(['delivery.update-failed']);
    expect(plan(flooded, closed.now + 60_000)).toMatchObject({ failures: 0 });
  });

  it('keeps an ended session from being pruned until it is over, and is on the agenda of delivery', () => {
    const over = closed.and([
      answered(),
      ended(),
      attempted(QUESTION + 4),
      fact('delivery.succeeded', { output: QUESTION + 4, attempt: 1, receipt: null }),
    ]);
    expect(agenda(over.state)).toMatchObject({ settled: false, delivery: expect.any(Number) });
    const done = over.when(finished).thenTypes(['delivery.updated']);
    expect(agenda(done.state)).toMatchObject({ settled: true, delivery: null });
  });

  it('holds back no output', () => {
    const next = closed.and([runStarted(2), answered('Done.', { generation: 2 }), ended()]);
    expect(deliveryPlan(next.state, next.now)).toMatchObject({ action: 'send' });
  });
});

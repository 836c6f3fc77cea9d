import { type EventData, type RecordedEvent, type SessionFact, sessionId } from '@angelia/contracts';
import { deliveryPlan, fold, type SendPlan } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { statusMessage } from './status-message.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const ID = sessionId('018f2f6e-0000-7000-8000-000000000001');

type Fact = { readonly type: string; readonly data: unknown };

const created = (interim: 'edit' | 'message'): Fact => ({
  type: 'session.created',
  data: {
    route: 'r',
    delivery_id: 'd',
    title: 't',
    agent: 'a',
    interim,
    deliver: { target: 'telegram', to: {}, untrusted_address: false },
    fallback_target: { target: 'slack', to: {}, untrusted_address: false },
  },
});
const turn = (number: number): Fact => ({
  type: 'turn.requested',
  data: { turn: number, source: 'webhook', input: '' },
});
const status = (number: number): Fact => ({
  type: 'session.interim-status',
  data: { turn: number, generation: 1, text: 'working' },
});
const question: Fact = {
  type: 'clarification.requested',
  data: {
    turn: 1,
    clarification_id: 'c',
    call_id: 'x',
    question: '?',
    choices: [],
    deadline: '2027-01-01T00:00:00Z',
  },
};
const attempted = (output: number): Fact => ({
  type: 'delivery.attempted',
  data: { output, attempt: 1, target: 'x', via: 'target', sender: 's', deadline_seconds: 30 },
});
const succeeded = (output: number, receipt: string | null = `m-${output}`): Fact => ({
  type: 'delivery.succeeded',
  data: { output, attempt: 1, receipt },
});
const dead = (output: number): Fact => ({
  type: 'delivery.dead',
  data: { output, attempt: 1, reason: 'gone' },
});

/** The status message for the next output of the plan after these events. */
function next(...facts: Fact[]): string | null {
  const events = facts.map(
    (fact, n): RecordedEvent => ({
      ...(fact as SessionFact),
      position: 0,
      streamId: ID,
      version: n + 1,
      schemaVersion: 1,
      eventId: `e-${n}`,
      meta: { actor: 'test', correlation: ID },
      recordedAt: START + n,
    }),
  );
  const state = fold(events);
  const plan = deliveryPlan(state, START + 1_000_000) as SendPlan;
  expect(plan.action).toBe('send');
  return statusMessage({ id: ID, state, events, version: events.length }, plan);
}

const begun = [created('edit'), turn(1), turn(2)];
/** Output 4, delivered. */
const first = [...begun, status(1), attempted(4), succeeded(4)];

describe('the status message', () => {
  it('is the last status delivered in this turn', () => {
    expect(next(...begun, status(1))).toBeNull();
    expect(next(...first, status(1))).toBe('m-4');
    expect(next(...first, status(1), attempted(7), succeeded(7), status(1))).toBe('m-7');
  });

  it('does not exist if the route wants a message for each status', () => {
    expect(next(created('message'), ...first.slice(1), status(1))).toBeNull();
  });

  it('is not a status of another turn, even if nothing was sent in between', () => {
    const silent: EventData<'session.final-response'> = {
      generation: 1,
      turn: 1,
      outcome: 'succeeded',
      text: '[SILENT]',
      silent: true,
    };
    expect(next(...first, { type: 'session.final-response', data: silent }, status(2))).toBeNull();
  });

  it('is not a question, nor a status above one', () => {
    expect(next(...first, question, attempted(7), succeeded(7), status(1))).toBeNull();
  });

  it('is not a message at another target, one of several messages, or one without a receipt', () => {
    const viaFallback = {
      output: 4,
      attempt: 2,
      target: 'x',
      via: 'fallback_target',
      sender: 's',
      deadline_seconds: 30,
    };
    const there: Fact = { type: 'delivery.attempted', data: viaFallback };
    const taken: Fact = { type: 'delivery.succeeded', data: { output: 4, attempt: 2, receipt: 'm-4' } };
    expect(next(...begun, status(1), attempted(4), dead(4), there, taken, status(1))).toBeNull();
    const chunk: Fact = {
      type: 'delivery.chunk-taken',
      data: { output: 4, attempt: 1, chunk: 1, chunks: 2, receipt: 'm-0', deadline_seconds: 30 },
    };
    expect(next(...begun, status(1), attempted(4), chunk, succeeded(4), status(1))).toBeNull();
    expect(next(...begun, status(1), attempted(4), succeeded(4, null), status(1))).toBeNull();
  });
});

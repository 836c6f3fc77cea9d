import { describe, expect, it } from '@jest/globals';
import { given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  created,
  ended,
  modelAsked,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';
import { fact } from '../decision.ts';
import { deliveryPlan } from '../deliveries/delivery-plan.ts';
import { type RecoveryPolicy, recover } from '../recovery/recover.ts';

const DEADLINE = START + 3_600_000;
const policy: RecoveryPolicy = { freshnessSeconds: 600, maxAttempts: 3, maxInterruptionSeconds: 1200 };
const asking = [created(), turn(1), runStarted(1), modelAsked(['ask-1', 'c-1'])];
const waiting = [...asking, toolStarted('c-1'), toolFinished('c-1'), asked(DEADLINE)];
const request: Extract<SessionCommand, { type: 'request-clarification' }> = {
  type: 'request-clarification',
  generation: 1,
  clarificationId: 'q-1',
  callId: 'ask-1',
  question: 'Which one?',
  deadline: DEADLINE,
  onTimeout: 'end',
};
const answer: SessionCommand = {
  type: 'answer-clarification',
  clarificationId: 'q-1',
  answer: 'the red one',
  by: 'api',
};
const timeOut: SessionCommand = { type: 'time-out-clarification', clarificationId: 'q-1' };

describe('a clarification', () => {
  it('is an output, and the session waits without holding a run', () => {
    const after = given(asking)
      .when(request)
      .then([asked(DEADLINE)]);
    expect(after.state).toMatchObject({ run: null, clarification: { id: 'q-1', deadline: DEADLINE } });
    expect(after.state.outputs).toMatchObject([{ kind: 'clarification' }]);
    after.when(request).thenNothing();
  });

  it('is refused while other calls of the run are in flight', () => {
    given([...asking, toolStarted('c-1')])
      .when(request)
      .thenRefused('tools_open');
  });

  it('must be one of the calls that the model asked for', () => {
    given(asking)
      .when({ ...request, callId: 'x' })
      .thenRefused('unknown_call');
  });

  it('is answered once', () => {
    const after = given(waiting)
      .when(answer)
      .then([fact('clarification.answered', { clarification_id: 'q-1', answer: 'the red one', by: 'api' })]);
    expect(after.state.clarification).toBeNull();
    after.when(answer).thenRefused('clarification_closed');
    after.when(timeOut).thenRefused('clarification_closed');
  });

  it('C5: without an answer the turn ends with a message, as expired', () => {
    const after = given(waiting)
      .when(timeOut)
      .thenTypes(['clarification.timed-out', 'run.failed', 'session.final-response', 'session.ended']);
    expect(after.state.ended?.outcome).toBe('expired');
    expect(after.state.outputs.at(-1)?.kind).toBe('final-response');
    after.when(answer).thenRefused('session_ended');
  });

  it('without an answer the turn goes on if the route says so', () => {
    given([...asking, asked(DEADLINE, { on_timeout: 'continue' })])
      .when(timeOut)
      .then([fact('clarification.timed-out', { clarification_id: 'q-1' })]);
  });

  it('the verdict of recover times it out too', () => {
    given(waiting)
      .when({ type: 'expire', reason: 'clarification', turn: 1, generation: 1, text: 'Too late.' })
      .then([
        fact('clarification.timed-out', { clarification_id: 'q-1' }),
        fact('run.failed', {
          generation: null,
          turn: 1,
          code: 'clarification_timeout',
          message: 'expired: clarification',
        }),
        answered('Too late.', { generation: null, outcome: 'expired' }),
        ended({ outcome: 'expired' }),
      ]);
  });

  it('C5: an unrelated message while it is open is queued behind it', () => {
    const after = given(waiting)
      .when({ type: 'request-turn', source: 'message', input: 'something else', deliveryId: 'd-2' })
      .thenTypes(['turn.requested']);
    expect(after.state.clarification).not.toBeNull();
    const timedOut = after
      .when(timeOut)
      .thenTypes(['clarification.timed-out', 'run.failed', 'session.final-response']);
    expect(timedOut.state.turns.map((t) => t.turn)).toEqual([2]);
  });

  it('C5: a message that supersedes it is the next turn; the turn that asked is cancelled and says nothing', () => {
    const after = given(waiting)
      .when({
        type: 'request-turn',
        source: 'message',
        input: 'something else',
        deliveryId: null,
        supersede: true,
      })
      .then([
        fact('clarification.superseded', { clarification_id: 'q-1' }),
        fact('run.cancelled', { generation: null, turn: 1, by: 'message' }),
        turn(2, { source: 'message', input: 'something else', delivery_id: null }),
      ]);
    expect(after.state).toMatchObject({ clarification: null, turns: [{ turn: 2 }], ended: null });
    expect(recover(after.state, null, START, policy)).toMatchObject({
      action: 'resume',
      turn: 2,
      resumed: false,
    });
    after.when(answer).thenRefused('clarification_closed');
    after.when(timeOut).thenRefused('clarification_closed');
    // The question was not delivered yet, and nobody needs it any more.
    expect(deliveryPlan(after.state, START)).toMatchObject({
      action: 'drop',
      reason: 'the question is closed',
    });
    const ended = after
      .when({
        type: 'start-run',
        generation: 2,
        turn: 2,
        runner: 'r',
        resumed: false,
        attempt: 1,
        takeover: false,
      })
      .after.when({ type: 'finish-turn', generation: 2, text: 'done' })
      .thenTypes(['session.final-response', 'session.ended']);
    expect(ended.state.ended?.outcome).toBe('succeeded');
  });

  it('a message that may supersede it is simply a further turn if no question is open', () => {
    given([created(), turn(1), runStarted(1)])
      .when({ type: 'request-turn', source: 'message', input: 'x', deliveryId: null, supersede: true })
      .thenTypes(['turn.requested']);
  });

  it('a webhook that interrupts its turn also supersedes it', () => {
    given(waiting)
      .when({ type: 'request-turn', source: 'webhook', input: 'x', deliveryId: 'd-2', interrupt: true })
      .thenTypes(['clarification.superseded', 'run.cancelled', 'turn.requested']);
  });

  it('closes with a cancelled session', () => {
    const after = given(waiting).when({ type: 'cancel', by: 'api' }).after;
    expect(after.state.clarification).toBeNull();
    after.when(answer).thenRefused('session_ended');
  });
});

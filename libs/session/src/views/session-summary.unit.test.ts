import { describe, expect, it } from '@jest/globals';
import { given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  attempted,
  created,
  ended,
  interim,
  interrupted,
  modelAsked,
  modelSaid,
  processStarted,
  putOff,
  runStarted,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import { fact } from '../decision.ts';
import { fold } from '../evolve.ts';
import { iso } from '../time.ts';
import { sessionSummary } from './session-summary.ts';

const running = [created(), turn(1), runStarted(1)];
const delivered = (output: number) => fact('delivery.succeeded', { output, attempt: 1, receipt: 'm-1' });
/** Time of the n-th event of a history with default times. */
const at = (n: number) => START + (n - 1) * 1000;

describe('a session as the API shows it', () => {
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';

  it('A7: has its whole id, its title, its target, its delivery counts and its trace', () => {
    const events = given([
      ...running,
      interim('x'),
      modelSaid('the answer'),
      answered(),
      ended(),
      attempted(4),
      delivered(4),
    ]).events.map((event, i) =>
      i === 0
        ? { ...event, meta: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } }
        : event,
    );
    expect(sessionSummary(id, fold(events))).toEqual({
      id,
      title: 'An alert',
      route: 'alerts',
      event: 'alert',
      delivery_id: 'd-1',
      status: 'ended',
      waiting_for: null,
      retry_at: null,
      outcome: 'succeeded',
      failure: null,
      end_reason: 'webhook_complete',
      created_at: iso(at(1)),
      last_activity_at: iso(at(9)),
      ended_at: iso(at(7)),
      generation: 1,
      version: 9,
      agent: 'default',
      model: 'main',
      usage: { input_tokens: 10, output_tokens: 5 },
      deliver: { target: 'telegram', to: { chat_id: '1', message_thread_id: '42' } },
      deliveries: { pending: 1, delivered: 1, dead: 0, dropped: 0 },
      processes: [],
      trace_id: '0af7651916cd43dd8448eb211c80319c',
    });
  });

  it('says why its last turn failed, until another turn succeeds or is cancelled', () => {
    const failure = fact('run.failed', {
      generation: 1,
      turn: 1,
      code: 'timeout',
      message: 'm'.repeat(1_100),
    });
    const failing = [...running, turn(2), failure, answered('sorry', { outcome: 'failed' })];
    const shown = (facts: Parameters<typeof given>[0]) =>
      sessionSummary(id, fold(given(facts).events))?.failure;
    expect(shown(failing)).toEqual({ code: 'timeout', message: `${'m'.repeat(1_000)}…` });
    const second = [...failing, runStarted(2, { turn: 2 })];
    expect(shown(second)?.code).toBe('timeout');
    expect(shown([...second, answered('done', { generation: 2, turn: 2 }), ended()])).toBeNull();
    expect(shown([...second, fact('run.cancelled', { generation: 2, turn: 2, by: 'api' })])).toBeNull();
  });

  it('is null if there is no session', () => {
    expect(sessionSummary(id, fold([]))).toBeNull();
  });

  const withProcess = [...running, modelAsked(['c-1']), toolStarted('c-1'), processStarted('p'), answered()];
  it.each([
    ['queued', null, [created(), turn(1)]],
    ['running', null, running],
    ['queued', null, [...running, interrupted(1)]],
    ['waiting', 'person', [...running, modelAsked(['ask-1']), asked(START)]],
    ['waiting', 'process', withProcess],
    ['waiting', 'model', [...running, putOff(1, START)]],
    ['running', null, [...running, putOff(1, START), runStarted(2)]],
    ['queued', null, [...running, putOff(1, START), runStarted(2), interrupted(2)]],
    ['ended', null, [...running, putOff(1, START), answered(), ended()]],
  ])('is %s (for %s)', (status, waiting_for, facts) => {
    expect(sessionSummary(id, given(facts).state)).toMatchObject({ status, waiting_for });
  });

  it('says why it waits for a model and until when, without the words of the provider', () => {
    const models = [
      { model: 'main', code: 'unavailable', message: 'raw words', called: true },
      { model: 'backup', code: 'unauthorized', message: 'raw words', called: false },
    ];
    const waiting = given([...running, putOff(1, START + 60_000, { models })]);
    expect(sessionSummary(id, waiting.state)).toMatchObject({
      retry_at: iso(START + 60_000),
      failure: { code: 'unavailable', message: 'main: unavailable; backup: unauthorized' },
    });
    expect(sessionSummary(id, waiting.and([runStarted(2)]).state)).toMatchObject({
      retry_at: null,
      failure: null,
    });
  });
});

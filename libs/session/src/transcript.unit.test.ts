import { describe, expect, it } from '@jest/globals';
import { fact } from './decision.ts';
import {
  answered,
  asked,
  created,
  ended,
  modelAsked,
  modelSaid,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from './sample-facts.ts';
import { type GivenFact, given, START } from './testing.ts';
import { iso } from './time.ts';
import { pendingAnswer, resumeNote, transcript } from './transcript.ts';

const rows = (facts: readonly GivenFact[]) =>
  transcript(given(facts).events).map((row) => `${row.role}: ${row.content}`);
const running = [created(), turn(1), runStarted(1)];

describe('the transcript', () => {
  it('D2: an answer is one row, though the model said it and the session answered it', () => {
    expect(rows([...running, modelSaid('the answer'), answered(), ended()])).toEqual([
      'user: input 1',
      'assistant: the answer',
    ]);
  });

  it('D8: queued turns are not shown before the answer of the turn before', () => {
    const queued = [...running, turn(2), turn(3), modelSaid('one')];
    expect(rows(queued)).toEqual(['user: input 1', 'assistant: one']);
    const next = [...queued, answered('one'), runStarted(2, { turn: 2 })];
    expect(rows(next)).toEqual(['user: input 1', 'assistant: one', 'user: input 2']);
    const last = [
      ...next,
      answered('two', { turn: 2 }),
      runStarted(3, { turn: 3 }),
      answered('three', { turn: 3 }),
    ];
    expect(rows(last)).toEqual([
      'user: input 1',
      'assistant: one',
      'user: input 2',
      'assistant: two',
      'user: input 3',
      'assistant: three',
    ]);
  });

  it('D4: a silent answer is kept', () => {
    expect(rows([...running, answered('[SILENT]', { silent: true })])).toContain('assistant: [SILENT]');
  });

  it('tool calls have their results behind them, in the order of the calls', () => {
    const messages = transcript(
      given([
        ...running,
        modelAsked(['c-1', 'c-2']),
        toolStarted('c-1'),
        toolStarted('c-2'),
        toolFinished('c-2'),
        toolFinished('c-1'),
        modelSaid('done', { step: 2 }),
      ]).events,
    );
    expect(messages.map((row) => row.tool_call_id ?? row.role)).toEqual([
      'user',
      'assistant',
      'c-1',
      'c-2',
      'assistant',
    ]);
    expect(messages[1]?.tool_calls).toHaveLength(2);
  });

  it('C14: a call without a result is unknown once a later run goes on, not before', () => {
    const open = [...running, modelAsked(['c-1']), toolStarted('c-1')];
    expect(rows(open)).toHaveLength(2);
    expect(rows([...open, runStarted(2, { resumed: true })])[2]).toMatch(/^tool: The outcome .* is unknown/);
    expect(rows([...open, runStarted(2), toolFinished('c-1')])[2]).toBe('tool: result of c-1');
  });

  it('a call that was never started is open for the next run, and not carried out where the model went on', () => {
    const open = [...running, modelAsked(['c-1']), runStarted(2)];
    expect(rows(open)).toHaveLength(2);
    expect(rows([...open, answered()])[2]).toBe('tool: This call was not carried out.');
  });

  it('D6: tool rows without an answer are followed by none', () => {
    expect(rows([...running, modelAsked(['c-1']), toolStarted('c-1'), toolFinished('c-1')]).at(-1)).toBe(
      'tool: result of c-1',
    );
  });

  it('a failed turn has what the user was told as its answer', () => {
    expect(
      rows([
        ...running,
        modelAsked(['c-1']),
        toolStarted('c-1'),
        fact('run.failed', { generation: 1, turn: 1, code: 'timeout', message: 'm' }),
        answered('Sorry.', { outcome: 'failed' }),
      ]),
    ).toEqual([
      'user: input 1',
      'assistant: ',
      expect.stringMatching(/^tool: .*unknown/),
      'assistant: Sorry.',
    ]);
  });

  it('the answer to a question is the result of its call, and so is that none came', () => {
    const open = [...running, modelAsked(['ask-1']), asked(START)];
    const answer = fact('clarification.answered', { clarification_id: 'q-1', answer: 'red', by: 'api' });
    expect(rows([...open, answer]).at(-1)).toBe('tool: {"answer":"red"}');
    const none = fact('clarification.timed-out', { clarification_id: 'q-1' });
    expect(rows([...open, none]).at(-1)).toBe('tool: {"answer":null,"timed_out":true}');
  });

  it('a coalesced webhook replaces the input and says how many it superseded', () => {
    const coalesced = (id: string) =>
      fact('webhook.coalesced', {
        delivery_id: id,
        turn: 1,
        input: `input ${id}`,
        start_after: iso(START),
        queue_deadline: null,
        traceparent: null,
      });
    expect(rows([created(), turn(1), coalesced('b'), coalesced('c')])).toEqual([
      'user: input c\n\n[This replaces 2 earlier webhooks that arrived shortly before.]',
    ]);
  });

  it('C4: that a run is resumed is no message, and the note is one however often it was', () => {
    const history = given([
      ...running,
      runStarted(2, { resumed: true, attempt: 2 }),
      runStarted(3, { resumed: true, attempt: 3 }),
    ]);
    expect(transcript(history.events)).toHaveLength(1);
    expect(resumeNote(history.state)).toMatch(/do not ask what to do next/);
    expect(resumeNote(given(running).state)).toBeNull();
  });

  it('a continuation begins with the transcript of the session before', () => {
    const old = transcript(
      given([...running, modelAsked(['c-1']), toolFinished('c-1'), answered(), ended()]).events,
    );
    const continued = given([]).when({
      type: 'create-session',
      route: 'alerts',
      event: null,
      deliveryId: 'd-9',
      title: 't',
      agent: 'default',
      deliver: { target: 'log', to: {}, untrusted_address: false },
      continues: 'old',
      source: 'message',
      history: old,
      input: 'and now?',
    }).after;
    expect(transcript(continued.events).map((row) => row.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
  });

  it('a cancelled turn says so, and what was queued behind it is not shown', () => {
    const { events } = given([...running, turn(2)]).when({ type: 'cancel', by: 'api' }).after;
    expect(transcript(events).map((row) => row.role)).toEqual(['user', 'assistant']);
  });
});

describe('an answer that a lost run had already recorded', () => {
  it('is found, so that the model is not asked again', () => {
    expect(pendingAnswer(given([...running, modelSaid('the answer'), runStarted(2)]).events)).toBe(
      'the answer',
    );
  });

  it('is none when the turn is answered, or calls tools', () => {
    expect(pendingAnswer(given([...running, modelSaid('a'), answered('a')]).events)).toBeNull();
    expect(pendingAnswer(given([...running, modelAsked(['c-1'])]).events)).toBeNull();
    expect(pendingAnswer(given(running).events)).toBeNull();
  });
});

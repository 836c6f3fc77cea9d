import type { SessionFact } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  compressed,
  created,
  ended,
  interrupted,
  modelAsked,
  putOff,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';
import { fact } from '../decision.ts';

const start: Extract<SessionCommand, { type: 'start-run' }> = {
  type: 'start-run',
  generation: 1,
  turn: 1,
  runner: 'runner#1',
  resumed: false,
  attempt: 1,
  takeover: false,
};
const respond: Extract<SessionCommand, { type: 'record-model-response' }> = {
  type: 'record-model-response',
  generation: 1,
  step: 1,
  model: 'main',
  text: '',
  toolCalls: [{ id: 'c-1', name: 'terminal', arguments: '{}' }],
  finishReason: 'tool_calls',
  usage: { input_tokens: 10, output_tokens: 5 },
};
const finish = (text: string, generation = 1): SessionCommand => ({ type: 'finish-turn', generation, text });
const running = [created(), turn(1), runStarted(1)];

describe('starting a run', () => {
  it('opens the next generation', () => {
    given([created(), turn(1)])
      .when(start)
      .then([runStarted(1)]);
  });

  it('is refused while a run is open, and for the same generation again', () => {
    given(running).when(start).thenRefused('stale_generation');
    given(running)
      .when({ ...start, generation: 2 })
      .thenRefused('run_open');
  });

  it('takes over from an open run if the command says that its lease expired', () => {
    given(running)
      .when({ ...start, generation: 2, takeover: true, resumed: true, attempt: 2 })
      .then([runStarted(2, { resumed: true, attempt: 2 })]);
  });

  it('is only possible for the first turn in the queue', () => {
    given([created(), turn(1), turn(2)])
      .when({ ...start, turn: 2 })
      .thenRefused('not_next_turn');
    given([...running, answered()])
      .when({ ...start, generation: 2 })
      .thenRefused('not_next_turn');
  });

  it('is refused while a question is open', () => {
    given([...running, modelAsked(['ask-1']), asked(START)])
      .when({ ...start, generation: 2 })
      .thenRefused('waiting_for_answer');
  });

  it('is refused after the end', () => {
    given([...running, answered(), ended()])
      .when({ ...start, generation: 2 })
      .thenRefused('session_ended');
  });
});

describe('single-owner: the generation is the fence', () => {
  const takenOver = given([
    ...running,
    modelAsked(['c-1', 'ask-2']),
    toolStarted('c-1'),
    runStarted(2, { resumed: true }),
  ]);
  const stale: SessionCommand[] = [
    { ...respond, step: 2 },
    { type: 'start-tool', generation: 1, callId: 'c-1', tool: 'terminal', arguments: '{}' },
    { type: 'finish-tool', generation: 1, callId: 'c-1', outcome: 'ok', result: '' },
    { type: 'interim-status', generation: 1, sequence: 1, kind: 'progress', text: 'Still working' },
    finish('late'),
    { type: 'fail-run', generation: 1, code: 'timeout', message: '', text: 'failed' },
    { type: 'interrupt-run', generation: 1, reason: 'drain' },
    { type: 'put-off-run', generation: 1, reason: 'unavailable', retryAt: START, models: [] },
    {
      type: 'request-clarification',
      generation: 1,
      clarificationId: 'q',
      callId: 'ask-2',
      question: '?',
      deadline: START,
      onTimeout: 'end',
    },
    { type: 'expire', generation: 1, turn: 1, reason: 'stale' },
    { ...start, generation: 1, takeover: true },
  ];

  it.each(stale.map((command) => [command.type, command] as const))(
    'an older generation cannot %s',
    (_type, command) => {
      takenOver.when(command).thenRefused('stale_generation');
    },
  );

  it('an interrupted run can append nothing more', () => {
    given([...running, interrupted(1)])
      .when(finish('late'))
      .thenRefused('no_open_run');
  });
});

describe('a failed run', () => {
  it('B2: tells the user and ends the session as failed', () => {
    given(running)
      .when({ type: 'fail-run', generation: 1, code: 'models_failed', message: 'm', text: 'Sorry.' })
      .then([
        fact('run.failed', { generation: 1, turn: 1, code: 'models_failed', message: 'm' }),
        answered('Sorry.', { outcome: 'failed' }),
        ended({ outcome: 'failed' }),
      ]);
  });

  it('is never silent', () => {
    const { state } = given(running).when({
      type: 'fail-run',
      generation: 1,
      code: 'timeout',
      message: '',
      text: ' ',
    }).after;
    expect(state.outputs).toHaveLength(1);
    const said = given(running).when({
      type: 'fail-run',
      generation: 1,
      code: 'timeout',
      message: '',
      text: '[SILENT]',
    }).after;
    expect(said.state.outputs).toHaveLength(1);
  });
});

describe('interrupting', () => {
  it('closes the run and keeps the turn', () => {
    const { state } = given(running)
      .when({ type: 'interrupt-run', generation: 1, reason: 'drain' })
      .then([interrupted(1)]);
    expect(state.run).toBeNull();
    expect(state.turns).toHaveLength(1);
  });
});

describe('putting off', () => {
  const models = [
    { model: 'main', code: 'unavailable', message: 'model main: busy (HTTP 503)', called: true },
  ];
  const command = {
    type: 'put-off-run',
    generation: 1,
    reason: 'unavailable',
    retryAt: START,
    models,
  } as const;

  it('closes the run and keeps the turn, and its steps', () => {
    const { state } = given([...running, modelAsked(['c-1']), toolStarted('c-1'), toolFinished('c-1')])
      .when(command)
      .then([putOff(1, START)]);
    expect(state.run).toBeNull();
    expect(state.turns).toMatchObject([{ turn: 1, step: 1, attempts: 0, calls: [{ status: 'done' }] }]);
  });

  it('a run that is put off and started again, many times, does not use up attempts', () => {
    let history = given(running);
    for (let generation = 1; generation < 9; generation += 1) {
      history = history.and([putOff(generation, START), runStarted(generation + 1)]);
    }
    expect(history.state.turns).toMatchObject([{ attempts: 1, putOff: { count: 8, waiting: false } }]);
  });

  it('a put-off run can append nothing more', () => {
    given([...running, putOff(1, START)])
      .when(finish('late'))
      .thenRefused('no_open_run');
  });

  it('the wait is over when a model answers or compresses, or the agent calls back; a tool result does not end it', () => {
    const waited = [...running, putOff(1, START), runStarted(2)];
    const since = (facts: readonly SessionFact[]) =>
      given([...waited, ...facts]).state.turns[0]?.putOff?.since;
    expect(since([])).toBe(START + 3_000);
    expect(since([modelAsked(['c-1'], { generation: 2 })])).toBeUndefined();
    expect(since([compressed(3, { generation: 2 })])).toBeUndefined();
    const tool = { call_id: 'agent-1', tool: 'agent:http' };
    const called = [...running, toolStarted('agent-1', tool), putOff(1, START)];
    expect(given([...called, toolFinished('agent-1', tool)]).state.turns[0]?.putOff).toBeNull();
    const asking = [
      ...running,
      modelAsked(['c-1']),
      toolStarted('c-1'),
      putOff(1, START),
      toolFinished('c-1'),
    ];
    expect(given(asking).state.turns[0]?.putOff).toMatchObject({ waiting: true });
  });
});

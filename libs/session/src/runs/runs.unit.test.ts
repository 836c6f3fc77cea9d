import { describe, expect, it } from '@jest/globals';
import { given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  created,
  ended,
  interim,
  interrupted,
  modelAsked,
  modelSaid,
  processStarted,
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

  it('is refused while one is open, and again for the same generation', () => {
    given(running).when(start).thenRefused('stale_generation');
    given(running)
      .when({ ...start, generation: 2 })
      .thenRefused('run_open');
  });

  it('takes the place of an open run whose lease is said to be expired', () => {
    given(running)
      .when({ ...start, generation: 2, takeover: true, resumed: true, attempt: 2 })
      .then([runStarted(2, { resumed: true, attempt: 2 })]);
  });

  it('is for the first turn of the queue only', () => {
    given([created(), turn(1), turn(2)])
      .when({ ...start, turn: 2 })
      .thenRefused('not_next_turn');
    given([...running, answered()])
      .when({ ...start, generation: 2 })
      .thenRefused('not_next_turn');
  });

  it('waits for the answer to an open question', () => {
    given([...running, modelAsked(['ask-1']), asked(START)])
      .when({ ...start, generation: 2 })
      .thenRefused('waiting_for_answer');
  });

  it('never happens after the end', () => {
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

  it('a run that was interrupted has nothing more to say', () => {
    given([...running, interrupted(1)])
      .when(finish('late'))
      .thenRefused('no_open_run');
  });
});

describe('the steps of a run', () => {
  it('are recorded in order, each once', () => {
    const after = given(running)
      .when(respond)
      .then([modelAsked(['c-1'])]);
    after.when(respond).thenNothing();
    after.when({ ...respond, step: 3 }).thenRefused('step_gap');
  });

  it('a call is started once, and only if the model asked for it', () => {
    const command: SessionCommand = {
      type: 'start-tool',
      generation: 1,
      callId: 'c-1',
      tool: 'terminal',
      arguments: '{}',
    };
    const after = given([...running, modelAsked(['c-1'])])
      .when(command)
      .then([toolStarted('c-1')]);
    after.when(command).thenNothing();
    after.when({ ...command, callId: 'c-9' }).thenRefused('unknown_call');
    after
      .and([toolFinished('c-1')])
      .when(command)
      .thenRefused('call_closed');
  });

  it('C14: a call that a lost run started is not started again by the next one', () => {
    given([...running, modelAsked(['c-1']), toolStarted('c-1'), runStarted(2)])
      .when({ type: 'start-tool', generation: 2, callId: 'c-1', tool: 'terminal', arguments: '{}' })
      .thenRefused('call_started');
  });

  it('a call that a lost run had not started is started by the next one', () => {
    given([...running, modelAsked(['c-1']), runStarted(2)])
      .when({ type: 'start-tool', generation: 2, callId: 'c-1', tool: 'terminal', arguments: '{}' })
      .then([toolStarted('c-1', { generation: 2 })]);
  });

  it('a result of the watcher survives the runner: it is taken while the call is open', () => {
    const result: SessionCommand = {
      type: 'finish-tool',
      generation: null,
      callId: 'c-1',
      outcome: 'ok',
      result: 'result of c-1',
    };
    const after = given([...running, modelAsked(['c-1']), toolStarted('c-1'), runStarted(2)])
      .when(result)
      .then([toolFinished('c-1')]);
    after.when(result).thenNothing();
    given([...running, modelAsked(['c-1']), toolStarted('c-1'), interrupted(1)])
      .when(result)
      .then([toolFinished('c-1')]);
  });

  it('a result that comes after the model went on without it is refused', () => {
    given([
      ...running,
      modelAsked(['c-1']),
      toolStarted('c-1'),
      runStarted(2),
      modelAsked(['c-2'], { generation: 2, step: 2 }),
    ])
      .when({ type: 'finish-tool', generation: null, callId: 'c-1', outcome: 'ok', result: '' })
      .thenRefused('call_closed');
  });

  it('the model is not asked again while calls of the same run are open', () => {
    given([...running, modelAsked(['c-1']), toolStarted('c-1')])
      .when({ ...respond, step: 2 })
      .thenRefused('tools_open');
  });

  it('interim statuses are told apart by their number, not by their text', () => {
    const say: SessionCommand = {
      type: 'interim-status',
      generation: 1,
      sequence: 1,
      kind: 'progress',
      text: 'Still working',
    };
    const after = given(running)
      .when(say)
      .then([interim('Still working')]);
    after.when(say).thenNothing();
    after.when({ ...say, sequence: 2 }).then([interim('Still working', { sequence: 2 })]);
  });
});

describe('every-session-ends: the end is decided with the answer', () => {
  it('B1: the answer of the only turn ends the session in the same decision', () => {
    given([...running, modelSaid('the answer')])
      .when(finish('the answer'))
      .then([answered(), ended()]);
  });

  it('B7: a second end is refused', () => {
    given([...running, answered(), ended()])
      .when(finish('the answer'))
      .thenRefused('session_ended');
  });

  it('goes on while a turn is queued', () => {
    given([...running, turn(2)])
      .when(finish('the answer'))
      .then([answered()]);
  });

  it('waits while a watched process is alive, and not for one that nobody watches', () => {
    const step = [modelAsked(['c-1']), toolStarted('c-1')];
    const done = toolFinished('c-1');
    given([...running, ...step, processStarted('proc_1'), done])
      .when(finish('the answer'))
      .then([answered()]);
    given([...running, ...step, processStarted('proc_1', { notify_on_complete: false }), done])
      .when(finish('the answer'))
      .then([answered(), ended()]);
    given([
      ...running,
      ...step,
      processStarted('proc_1', { notify_on_complete: false, watch_patterns: ['x'] }),
      done,
    ])
      .when(finish('the answer'))
      .then([answered()]);
  });

  it('B2: a failed run tells the user and ends the session as failed', () => {
    given(running)
      .when({ type: 'fail-run', generation: 1, code: 'models_failed', message: 'm', text: 'Sorry.' })
      .then([
        fact('run.failed', { generation: 1, turn: 1, code: 'models_failed', message: 'm' }),
        answered('Sorry.', { outcome: 'failed' }),
        ended({ outcome: 'failed' }),
      ]);
  });

  it('a failure is never silent', () => {
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

  it.each(['', ' \n', '[SILENT]', '[silent] nothing new'])('D3, D4: %j is kept and not delivered', (text) => {
    const { state } = given(running)
      .when(finish(text))
      .then([answered(text, { silent: true }), ended()]);
    expect(state.outputs).toEqual([]);
  });

  it('a text that only mentions [SILENT] is delivered', () => {
    given(running)
      .when(finish('Say [SILENT] to be quiet.'))
      .then([answered('Say [SILENT] to be quiet.'), ended()]);
  });

  it('the outcome is that of the last turn', () => {
    given([...running, turn(2), answered('Sorry', { outcome: 'failed' }), runStarted(2, { turn: 2 })])
      .when(finish('done', 2))
      .then([answered('done', { generation: 2, turn: 2 }), ended()]);
  });

  it('a session that a message began says so in its reason', () => {
    given([created(), turn(1, { source: 'message' }), runStarted(1)])
      .when(finish('the answer'))
      .then([answered(), ended({ reason: 'message_complete' })]);
  });
});

describe('cancel', () => {
  const cancel: SessionCommand = { type: 'cancel', by: 'api' };
  const cancelled = ended({ outcome: 'cancelled', detail: 'cancelled by api' });

  it('B3: stops the run and ends the session; a second one changes nothing', () => {
    const after = given([...running, turn(2)])
      .when(cancel)
      .then([fact('run.cancelled', { generation: 1, turn: 1, by: 'api' }), cancelled]);
    after.when(cancel).thenNothing();
  });

  it('works on a queued turn that no run has', () => {
    given([created(), turn(1)])
      .when(cancel)
      .then([fact('run.cancelled', { generation: null, turn: 1, by: 'api' }), cancelled]);
  });

  it('works on a session that only waits for a process', () => {
    given([
      ...running,
      modelAsked(['c-1']),
      toolStarted('c-1'),
      processStarted('p'),
      toolFinished('c-1'),
      answered(),
    ])
      .when(cancel)
      .then([cancelled]);
  });

  it('is refused where the session ended otherwise, or never was', () => {
    given([...running, answered(), ended()])
      .when(cancel)
      .thenRefused('session_ended');
    given([]).when(cancel).thenRefused('unknown_session');
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

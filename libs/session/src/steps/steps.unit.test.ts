import { describe, it } from '@jest/globals';
import { given } from '../../testing/given-when-then.ts';
import {
  created,
  interrupted,
  modelAsked,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';

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
const running = [created(), turn(1), runStarted(1)];

describe('the steps of a run', () => {
  it('are recorded once each and in order', () => {
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

  it('a result from the watcher is accepted while the call is open, even if its runner is gone', () => {
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

  it('a result is refused if the model has gone on without it', () => {
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

  it('a model answer is refused while calls of the same run are open', () => {
    given([...running, modelAsked(['c-1']), toolStarted('c-1')])
      .when({ ...respond, step: 2 })
      .thenRefused('tools_open');
  });
});

import { describe, expect, it } from '@jest/globals';
import { given } from '../testing/given-when-then.ts';
import { created, runStarted, turn } from '../testing/sample-facts.ts';
import { decideAll, type SessionCommand } from './decide.ts';

const { state } = given([created(), turn(1), runStarted(1)]);
const respond: SessionCommand = {
  type: 'record-model-response',
  generation: 1,
  step: 1,
  model: 'main',
  text: '',
  toolCalls: [
    { id: 'a', name: 'terminal', arguments: '{}' },
    { id: 'b', name: 'nothing', arguments: '{}' },
  ],
  finishReason: 'tool-calls',
  usage: { input_tokens: 1, output_tokens: 1 },
};
const start = (callId: string): SessionCommand => ({
  type: 'start-tool',
  generation: 1,
  callId,
  tool: 'terminal',
  arguments: '{}',
});

describe('several commands as one decision', () => {
  it('are decided in order, each on the state that the previous ones leave', () => {
    const decision = decideAll(state, [
      respond,
      { type: 'finish-tool', generation: 1, callId: 'b', outcome: 'error', result: 'no such tool' },
      start('a'),
    ]);
    expect(decision.ok && decision.events.map(({ type }) => type)).toEqual([
      'model.responded',
      'tool.finished',
      'tool.started',
    ]);
  });

  it('are all refused if one of them is', () => {
    expect(decideAll(state, [respond, start('a'), start('c')])).toMatchObject({
      ok: false,
      code: 'unknown_call',
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import { given } from '../../testing/given-when-then.ts';
import { answered, created, ended, interim, runStarted, turn } from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';

const finish = (text: string, generation = 1): SessionCommand => ({ type: 'finish-turn', generation, text });
const running = [created(), turn(1), runStarted(1)];

describe('an interim status', () => {
  it('is identified by its number, not by its text', () => {
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

describe('a silent answer', () => {
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
});

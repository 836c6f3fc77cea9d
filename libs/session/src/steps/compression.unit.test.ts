import { describe, expect, it } from '@jest/globals';
import { given } from '../../testing/given-when-then.ts';
import {
  compressed,
  created,
  modelAsked,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import type { CompressContext } from './compression.ts';

const running = [created(), turn(1), runStarted(1)];
const step = [modelAsked(['c-1']), toolStarted('c-1'), toolFinished('c-1')];
const compress = (over: Partial<CompressContext> = {}): CompressContext => ({
  type: 'compress-context',
  generation: 1,
  sequence: 1,
  throughVersion: 4,
  summary: 'what happened so far',
  input: null,
  model: 'main',
  usage: { input_tokens: 100, output_tokens: 20 },
  ...over,
});

describe('compressing the conversation', () => {
  it('is recorded, and its tokens count', () => {
    const after = given([...running, ...step])
      .when(compress())
      .then([compressed(4)]);
    expect(after.state.usage).toEqual({ input_tokens: 110, output_tokens: 25 });
  });

  it('is recorded once, however often the command is repeated', () => {
    const once = given([...running, ...step, compressed(4)]);
    once.when(compress()).thenNothing();
    once.when(compress({ sequence: 2 })).thenTypes(['context.compressed']);
  });

  it('is refused for a run that was taken over', () => {
    const over = given([...running, ...step, runStarted(2)]);
    over.when(compress()).thenRefused('stale_generation');
  });

  it('is refused while calls have no result', () => {
    const open = given([...running, modelAsked(['c-1']), toolStarted('c-1')]);
    open.when(compress()).thenRefused('tools_open');
  });
});

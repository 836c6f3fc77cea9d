import { parseConfig } from '@angelia/contracts';
import { expect, it } from '@jest/globals';
import { outputLimitWarnings } from './output-limits.ts';

it('an Anthropic model whose limit nobody knows is named, with the limit that is asked for', () => {
  const anthropic = { provider: 'anthropic', api_key: 'k' };
  const parsed = parseConfig({
    models: {
      other: { ...anthropic, model: 'MiniMax-M2' },
      set: { ...anthropic, model: 'MiniMax-M2', max_output_tokens: 100_000 },
      known: { ...anthropic, model: 'claude-sonnet-4-5' },
      hosted: { ...anthropic, model: 'anthropic.claude-opus-4-1-v1:0' },
      compatible: { provider: 'openai-compatible', base_url: 'http://127.0.0.1:1/v1', model: 'm' },
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  expect(outputLimitWarnings(parsed.config)).toEqual([
    'models.other.max_output_tokens: not set, and the limit of model MiniMax-M2 is not known, so it is asked for answers ' +
      'of at most 4096 tokens. Set max_output_tokens to the limit of the model.',
  ]);
});

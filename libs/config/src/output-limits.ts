import type { Config } from '@angelia/contracts';

/** What the SDK asks for if it does not know the model. Anthropic's protocol has no default. */
const ASKED_FOR = 4096;

/** Models whose answers are shorter than the operator may expect, one line each. */
export function outputLimitWarnings({ models }: Pick<Config, 'models'>): string[] {
  return Object.entries(models).flatMap(([name, config]) => {
    if (config.provider !== 'anthropic' || config.max_output_tokens !== undefined) return [];
    // The SDK knows the limits of Anthropic's own models.
    if (config.model.includes('claude-')) return [];
    return [
      `models.${name}.max_output_tokens: not set, and the limit of model ${config.model} is not known, so it is asked for ` +
        `answers of at most ${ASKED_FOR} tokens. Set max_output_tokens to the limit of the model.`,
    ];
  });
}

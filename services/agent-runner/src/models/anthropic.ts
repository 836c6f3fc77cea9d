import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { ModelConfig } from '@angelia/contracts';
import type { Model } from './model.ts';
import { createModelFetch, omittedKeyHeader } from './model-fetch.ts';
import { sdkModel } from './sdk-model.ts';

/** Said here, since the SDK would else look for ANTHROPIC_BASE_URL in the environment: the config is what counts. */
const BASE_URL = 'https://api.anthropic.com/v1';

/** Anthropic's messages at `{base_url}/messages`. `max_tokens`, which it asks for, the SDK knows for each model. */
export async function anthropicModel(
  name: string,
  config: Extract<ModelConfig, { provider: 'anthropic' }>,
): Promise<Model> {
  const baseUrl = config.base_url ?? BASE_URL;
  const [{ createAnthropic }, fetch] = await Promise.all([
    import('@ai-sdk/anthropic'),
    createModelFetch(omittedKeyHeader(config, 'x-api-key')),
  ]);
  const settings = {
    baseURL: baseUrl,
    apiKey: config.api_key ?? 'none',
    ...(config.headers === undefined ? {} : { headers: config.headers }),
  };
  return sdkModel(name, config, {
    languageModel: (over) => createAnthropic({ ...settings, fetch: over })(config.model),
    fetch,
    baseUrl,
    prepare: cached,
  });
}

const CACHED = { anthropic: { cacheControl: { type: 'ephemeral' } } };

/**
 * Each step sends the whole conversation again: marked so, Anthropic reads what it has seen before from its cache, for
 * a tenth of the price. The mark on the last message moves along with the conversation.
 */
function cached(prompt: LanguageModelV4Message[]): LanguageModelV4Message[] {
  return prompt.map((message, index) =>
    message.role === 'system' || index === prompt.length - 1
      ? { ...message, providerOptions: CACHED }
      : message,
  );
}

import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { ModelConfig } from '@angelia/contracts';
import type { Model } from '../model.ts';
import { createModelFetch, omittedKeyHeader } from './model-fetch.ts';
import { sdkModel } from './sdk-model.ts';

/** Set here, because the SDK would otherwise read ANTHROPIC_BASE_URL from the environment. Only the config counts. */
const BASE_URL = 'https://api.anthropic.com/v1';

/** Anthropic's messages at `{base_url}/messages`. It requires `max_tokens`, which the SDK knows for each model. */
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
    languageModel: (modelFetch) => createAnthropic({ ...settings, fetch: modelFetch })(config.model),
    fetch,
    baseUrl,
    prepare: markCached,
  });
}

const CACHED = { anthropic: { cacheControl: { type: 'ephemeral' } } };

/**
 * Each step sends the whole conversation again. With these marks Anthropic reads what it has seen before from its cache,
 * for a tenth of the price. The mark on the last message moves along with the conversation.
 */
function markCached(prompt: LanguageModelV4Message[]): LanguageModelV4Message[] {
  return prompt.map((message, index) =>
    message.role === 'system' || index === prompt.length - 1
      ? { ...message, providerOptions: CACHED }
      : message,
  );
}

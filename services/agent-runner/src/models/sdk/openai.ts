import type { ModelConfig } from '@angelia/contracts';
import type { Model } from '../model.ts';
import { createModelFetch, omittedKeyHeader } from './model-fetch.ts';
import { sdkModel } from './sdk-model.ts';

/** Set here, because the SDK would otherwise read OPENAI_BASE_URL from the environment. Only the config counts. */
const BASE_URL = 'https://api.openai.com/v1';

/**
 * OpenAI itself: as openai-compatible, plus what its reasoning models need (a developer message,
 * `max_completion_tokens`). It uses chat completions, not the Responses API, which keeps the conversation at OpenAI:
 * ours is in the log, and each step sends all of it.
 */
export async function openAIModel(
  name: string,
  config: Extract<ModelConfig, { provider: 'openai' }>,
): Promise<Model> {
  const baseUrl = config.base_url ?? BASE_URL;
  const [{ createOpenAI }, fetch] = await Promise.all([
    import('@ai-sdk/openai'),
    createModelFetch(omittedKeyHeader(config, 'authorization')),
  ]);
  const settings = {
    baseURL: baseUrl,
    apiKey: config.api_key ?? 'none',
    ...(config.headers === undefined ? {} : { headers: config.headers }),
  };
  return sdkModel(name, config, {
    languageModel: (modelFetch) => createOpenAI({ ...settings, fetch: modelFetch }).chat(config.model),
    fetch,
    baseUrl,
    imagesInResults: false,
  });
}

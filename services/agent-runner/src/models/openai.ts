import type { ModelConfig } from '@angelia/contracts';
import type { Model } from './model.ts';
import { createModelFetch, omittedKeyHeader } from './model-fetch.ts';
import { sdkModel } from './sdk-model.ts';

/** Said here, since the SDK would else look for OPENAI_BASE_URL in the environment: the config is what counts. */
const BASE_URL = 'https://api.openai.com/v1';

/**
 * OpenAI itself: as openai-compatible, and what its reasoning models want beside (a developer message,
 * `max_completion_tokens`). Chat completions and not its Responses API, which keeps the conversation at OpenAI: ours is
 * in the log, and each step sends all of it.
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
    languageModel: (over) => createOpenAI({ ...settings, fetch: over }).chat(config.model),
    fetch,
    baseUrl,
  });
}

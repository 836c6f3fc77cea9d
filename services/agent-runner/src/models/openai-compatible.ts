import type { ModelConfig } from '@angelia/contracts';
import type { Model } from './model.ts';
import { createModelFetch } from './model-fetch.ts';
import { sdkModel } from './sdk-model.ts';

/** Any server that speaks OpenAI's chat-completions protocol at `{base_url}/chat/completions`. */
export async function openAICompatibleModel(
  name: string,
  config: Extract<ModelConfig, { provider: 'openai-compatible' }>,
): Promise<Model> {
  const [{ createOpenAICompatible }, fetch] = await Promise.all([
    import('@ai-sdk/openai-compatible'),
    createModelFetch(),
  ]);
  const settings = {
    name,
    baseURL: config.base_url,
    includeUsage: true,
    ...(config.api_key === undefined ? {} : { apiKey: config.api_key }),
    ...(config.headers === undefined ? {} : { headers: config.headers }),
  };
  return sdkModel(name, config, {
    languageModel: (modelFetch) =>
      createOpenAICompatible({ ...settings, fetch: modelFetch }).chatModel(config.model),
    fetch,
    baseUrl: config.base_url,
  });
}

import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import type { ModelConfig } from '@angelia/contracts';
import type { Model, ModelRequest } from '../model.ts';
import { createModelFetch, omittedKeyHeader } from './model-fetch.ts';
import { sdkModel } from './sdk-model.ts';
import { effortOf } from './sdk-reasoning.ts';

type AnthropicConfig = Extract<ModelConfig, { provider: 'anthropic' }>;

/** Set here, because the SDK would otherwise read ANTHROPIC_BASE_URL from the environment. Only the config counts. */
const BASE_URL = 'https://api.anthropic.com/v1';

/** Anthropic's messages at `{base_url}/messages`. It requires `max_tokens`, which the SDK knows for each model. */
export async function anthropicModel(name: string, config: AnthropicConfig): Promise<Model> {
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
    imagesInResults: true,
    reasoning: (request) => thinkingOf(config, request),
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

/**
 * With thinking on, Anthropic refuses a request whose last calls come without their signed thoughts: another model asked for
 * them, or thinking was off. Such a step is taken without thinking.
 */
function thinkingOf(
  config: AnthropicConfig,
  { messages }: ModelRequest,
): Pick<LanguageModelV4CallOptions, 'reasoning' | 'providerOptions'> {
  const budgetTokens = config.reasoning?.budget_tokens;
  const effort = effortOf(config);
  if (budgetTokens === undefined && effort.reasoning === undefined) return {};
  const last = messages.findLast(({ role }) => role !== 'tool');
  const isAmongCalls = last?.role === 'assistant' && messages.at(-1)?.role === 'tool';
  if (isAmongCalls && last.reasoning === undefined) return { reasoning: 'none' };
  if (budgetTokens === undefined) return effort;
  return { ...effort, providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens } } } };
}

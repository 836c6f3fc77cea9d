import type { Config, ModelConfig } from '@angelia/contracts';
import { openAICompatibleModel } from './chat-completions/openai-compatible.ts';
import { echoModel } from './echo.ts';
import type { Model } from './model.ts';
import { anthropicModel } from './sdk/anthropic.ts';
import { openAIModel } from './sdk/openai.ts';

export type Models = ReadonlyMap<string, Model>;

/** Every model that an agent names, ready to be called. */
export async function provideModels(config: Pick<Config, 'models' | 'agents'>): Promise<Models> {
  const wanted = new Set(
    Object.values(config.agents).flatMap((agent) =>
      agent.kind === 'llm' ? [...(agent.model ? [agent.model] : []), ...agent.fallback_models] : [],
    ),
  );
  const made = await Promise.all(
    Object.entries(config.models)
      .filter(([name]) => wanted.has(name))
      .map(async ([name, model]) => [name, await provideModel(name, model)] as const),
  );
  return new Map(made);
}

/** The SDK of a provider takes about 25 MB and 100 ms to load, so it is loaded only if the config uses the provider. */
async function provideModel(name: string, config: ModelConfig): Promise<Model> {
  switch (config.provider) {
    case 'builtin':
      return echoModel(name);
    case 'openai-compatible':
      return openAICompatibleModel(name, config);
    case 'openai':
      return openAIModel(name, config);
    case 'anthropic':
      return anthropicModel(name, config);
  }
}

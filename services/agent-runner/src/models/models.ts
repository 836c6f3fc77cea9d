import type { Config, ModelConfig } from '@angelia/contracts';
import { StartupError } from '@angelia/service-kit';
import { echoModel } from './echo.ts';
import type { Model } from './model.ts';
import { openAICompatibleModel } from './openai-compatible.ts';

export type Models = ReadonlyMap<string, Model>;

/** Every model that an agent names, ready to be called. A provider that we cannot call is refused at start. */
export async function provideModels(config: Pick<Config, 'models' | 'agents'>): Promise<Models> {
  const wanted = new Set(
    Object.values(config.agents).flatMap((agent) => [
      ...(agent.model ? [agent.model] : []),
      ...agent.fallback_models,
    ]),
  );
  const made = await Promise.all(
    Object.entries(config.models)
      .filter(([name]) => wanted.has(name))
      .map(async ([name, model]) => [name, await provideModel(name, model)] as const),
  );
  return new Map(made);
}

function provideModel(name: string, config: ModelConfig): Model | Promise<Model> {
  switch (config.provider) {
    case 'builtin':
      return echoModel(name);
    case 'openai-compatible':
      return openAICompatibleModel(name, config);
    case 'openai':
    case 'anthropic':
      throw new StartupError([
        `models.${name}: provider ${config.provider} is not supported yet: use openai-compatible or builtin`,
      ]);
  }
}

import { isDeepStrictEqual } from 'node:util';
import type { HeldConfig, RunningConfig } from '@angelia/config';
import type { Config, ModelConfig } from '@angelia/contracts';
import { type CallbackLinks, callbackLinks, type ServiceSettings } from '@angelia/service-kit';
import { type Models, provideModels } from './models/provide-models.ts';
import { McpServers } from './tools/mcp/mcp-servers.ts';
import { provideToolsets } from './tools/provide-toolsets.ts';
import type { Toolsets } from './tools/tool-set.ts';

/** What the runner makes of a config. */
export interface RunnerSettings {
  readonly models: Models;
  readonly modelConfigs: Config['models'];
  readonly mcp: McpServers;
  readonly toolsets: Toolsets;
  readonly callbacks: CallbackLinks | null;
}

export const runnerSettings: ServiceSettings<RunnerSettings> = {
  make: async ({ config }, { environment, logger, previous }) => {
    const callbacks = callbackLinks(config, environment);
    const models = await modelsOf(config, previous);
    // Last, because it shares servers with the previous settings: nothing may fail after it.
    const mcp = new McpServers(config, logger, previous?.mcp ?? null);
    return { models, modelConfigs: config.models, mcp, toolsets: provideToolsets(mcp), callbacks };
  },
  close: ({ mcp }) => mcp.close(),
};

/** A model that did not change stays the same object, with its connections. */
async function modelsOf(config: Config, previous: RunnerSettings | null): Promise<Models> {
  const isUnchanged = (name: string): boolean =>
    previous?.models.has(name) === true &&
    isDeepStrictEqual(previous.modelConfigs[name], config.models[name]);
  const changed = Object.entries(config.models).filter(([name]) => !isUnchanged(name));
  const made = await provideModels({ agents: config.agents, models: Object.fromEntries(changed) });
  const kept = [...(previous?.models ?? [])].filter(([name]) => isUnchanged(name));
  return new Map([...kept, ...made]);
}

/**
 * The models of one run: those that it began with, but with the credentials in force. A run may take half an hour, and the
 * operator who rotates a key revokes the old one.
 */
export function modelsForRun(
  held: Pick<HeldConfig<RunnerSettings>, 'settings'>,
  live: Pick<RunningConfig<RunnerSettings>, 'settings'>,
): Pick<Models, 'get'> {
  return {
    get: (name) => {
      const { models, modelConfigs } = live.settings;
      const isSame = isSameButForCredentials(held.settings.modelConfigs[name], modelConfigs[name]);
      return (isSame ? models.get(name) : undefined) ?? held.settings.models.get(name);
    },
  };
}

function isSameButForCredentials(a: ModelConfig | undefined, b: ModelConfig | undefined): boolean {
  return (
    a !== undefined && b !== undefined && isDeepStrictEqual(withoutCredentials(a), withoutCredentials(b))
  );
}

function withoutCredentials(model: ModelConfig): object {
  const { api_key: _key, headers: _headers, ...rest } = { api_key: null, headers: null, ...model };
  return rest;
}

import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig, Config } from '@angelia/contracts';
import { agentAsModel, modelsOf } from './asked-models.ts';

/** The models for which sessions may wait no longer, because of a new config. */
export interface ChangedModels {
  /** They have another key or address, so what was seen of them no longer counts. */
  readonly mended: readonly string[];
  /** An agent that asked them asks others now. */
  readonly left: readonly string[];
}

type AskedConfig = Pick<Config, 'models' | 'agents'>;

export function changedModels(before: AskedConfig, after: AskedConfig): ChangedModels {
  const models = Object.keys(before.models).filter(
    (name) => !isDeepStrictEqual(before.models[name], after.models[name]),
  );
  const agents = Object.entries(before.agents);
  const httpAgents = agents.filter(
    ([name, agent]) => agent.kind === 'http' && !isDeepStrictEqual(agent, after.agents[name]),
  );
  return {
    mended: [...models, ...httpAgents.map(([name]) => agentAsModel(name))],
    left: agents.flatMap(([name, agent]) => {
      const now = asked(name, after.agents[name]);
      return agent.kind === 'llm' && !isDeepStrictEqual(asked(name, agent), now) ? asked(name, agent) : [];
    }),
  };
}

function asked(name: string, agent: AgentConfig | undefined): string[] {
  return agent === undefined || agent.kind === 'command' ? [] : modelsOf(name, agent);
}

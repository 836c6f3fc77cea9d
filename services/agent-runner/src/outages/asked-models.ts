import type { AgentConfig } from '@angelia/contracts';

/** An agent that asks somebody else for its answer. */
export type AskingAgent = Exclude<AgentConfig, { kind: 'command' }>;

/** The name of an http agent among the models. No model has it, because names have no colon. */
export function agentAsModel(agent: string): string {
  return `agent:${agent}`;
}

/** Whom the agent asks, in this order. */
export function modelsOf(name: string, agent: AskingAgent): string[] {
  if (agent.kind === 'http') return [agentAsModel(name)];
  return [...(agent.model === undefined ? [] : [agent.model]), ...agent.fallback_models];
}

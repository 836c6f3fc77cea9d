import type { Config } from '@angelia/contracts';

/** Names of the agents whose sessions run commands on process-watcher's host. */
export function agentsThatRunCommands({ agents }: Pick<Config, 'agents'>): string[] {
  return Object.entries(agents).flatMap(([name, agent]) => {
    const runs = agent.kind === 'command' || (agent.kind === 'llm' && agent.toolsets.includes('terminal'));
    return runs ? [name] : [];
  });
}

import type { AgentConfig, Config, ConfigProblem, RouteConfig } from '@angelia/contracts';
import { signingSecretProblem } from '../secrets/webhook-signature.ts';
import { unknownName } from './unknown-name.ts';

/** Own names only: every object has a `constructor`, which is not an agent. */
export function agentNamed(config: Config, name: string): AgentConfig | undefined {
  return Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
}

/** Agents of kind command and http bring their own tools. */
export function toolsetsOf(agent: AgentConfig): readonly string[] {
  return agent.kind === 'llm' ? agent.toolsets : [];
}

/** The names of the agents whose sessions run commands on process-watcher's host. */
export function agentsThatRunCommands({ agents }: Pick<Config, 'agents'>): string[] {
  return Object.entries(agents).flatMap(([name, agent]) =>
    agent.kind === 'command' || toolsetsOf(agent).includes('terminal') ? [name] : [],
  );
}

/** Whether such a session reads files from its directory: with a shell, or as a program that runs there. */
export function opensSessionFiles(
  config: Pick<Config, 'agents'>,
  name: string,
  toolsets: readonly string[] | null,
): boolean {
  const agent = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
  if (agent?.kind === 'command') return agent.cwd === undefined;
  return agent?.kind === 'llm' && (toolsets ?? agent.toolsets).includes('terminal');
}

export function agentProblems(config: Config, name: string, agent: AgentConfig): ConfigProblem[] {
  const place = `agents.${name}`;
  if (agent.kind === 'http') return signingProblems(`${place}.secret`, agent.secret);
  if (agent.kind !== 'llm') return [];
  const models = Object.keys(config.models);
  const problems: ConfigProblem[] = [];
  if (agent.model === undefined) {
    problems.push({ place: `${place}.model`, reason: 'an agent of kind llm needs a model. Set `model`.' });
  } else if (!models.includes(agent.model)) {
    problems.push({ place: `${place}.model`, reason: unknownName('model', agent.model, models) });
  }
  agent.fallback_models.forEach((model, index) => {
    if (models.includes(model)) return;
    problems.push({
      place: `${place}.fallback_models.${index}`,
      reason: unknownName('model', model, models),
    });
  });
  return [...problems, ...unknownToolsets(config, `${place}.toolsets`, agent.toolsets)];
}

/** The toolsets of a route must be a part of its agent's, so checking the agents and `api_routes` is enough. */
export function unknownToolsets(config: Config, place: string, toolsets: readonly string[]): ConfigProblem[] {
  const known = ['terminal', 'clarify', ...Object.keys(config.mcp_servers).map((server) => `mcp:${server}`)];
  return toolsets
    .filter((toolset) => !known.includes(toolset))
    .map((toolset) => ({ place, reason: unknownName('toolset', toolset, known) }));
}

export function routeAgentProblems(config: Config, name: string, route: RouteConfig): ConfigProblem[] {
  if (route.deliver_only) return [];
  const agent = agentNamed(config, route.agent);
  if (agent === undefined) {
    const reason = unknownName('agent', route.agent, Object.keys(config.agents));
    return [{ place: `routes.${name}.agent`, reason }];
  }
  const own = toolsetsOf(agent);
  const noTools =
    route.tools === undefined || agent.kind === 'llm'
      ? []
      : [
          {
            place: `routes.${name}.tools`,
            reason: `agent \`${route.agent}\` is of kind ${agent.kind} and has no tools of ours. Remove this key.`,
          },
        ];
  return noTools.concat(
    (route.toolsets ?? [])
      .filter((toolset) => !own.includes(toolset))
      .map((toolset) => ({
        place: `routes.${name}.toolsets`,
        reason: `agent \`${route.agent}\` does not have the toolset \`${toolset}\`. A route can only use toolsets of its agent.`,
      })),
  );
}

/** A secret that cannot sign would fail every run. */
function signingProblems(place: string, secret: string): ConfigProblem[] {
  const reason = signingSecretProblem(secret);
  return reason === null ? [] : [{ place, reason }];
}

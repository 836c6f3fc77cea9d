import type { AgentConfig, Config, EventData, RouteConfig } from '@angelia/contracts';
import { agentNamed, toolsetsOf } from './check/agents.ts';

/** A person who is asked has an hour, as for a question. */
const EXPIRES_SECONDS = 3600;

/**
 * What the tools of a session may do without asking, as it is captured when the session is made: the rules of the route,
 * then those of its agent. Null: whatever is granted, as neither has a rule.
 */
export function toolPolicyOf(
  config: Pick<Config, 'agents'>,
  route: Pick<RouteConfig, 'agent' | 'tools' | 'deliver_only'>,
): NonNullable<EventData<'session.created'>['tools']> | null {
  const ofAgent = toolsOf(agentNamed(config as Config, route.agent));
  const policy = [...(route.tools?.policy ?? []), ...(ofAgent?.policy ?? [])];
  if (policy.length === 0 || route.deliver_only) return null;
  return {
    policy,
    approvers: route.tools?.approvers ?? ofAgent?.approvers ?? [],
    approval_expires_seconds:
      route.tools?.approval_expires_seconds ?? ofAgent?.approval_expires_seconds ?? EXPIRES_SECONDS,
  };
}

function toolsOf(agent: AgentConfig | undefined) {
  return agent?.kind === 'llm' ? agent.tools : undefined;
}

/** Whether sessions of this agent, on this route or any other, may have to ask for an approval. */
export function agentsThatAsk(config: Pick<Config, 'agents' | 'routes'>): string[] {
  const asks = (tools: RouteConfig['tools']) => tools?.policy.some((rule) => rule.do === 'ask') === true;
  const byRoute = Object.values(config.routes).filter(({ tools }) => asks(tools));
  return Object.entries(config.agents).flatMap(([name, agent]) =>
    asks(toolsOf(agent)) || byRoute.some((route) => route.agent === name) ? [name] : [],
  );
}

/** One line for each route and chat whose agent may run any command without being asked. */
export function uncheckedCommandWarnings(config: Pick<Config, 'agents' | 'routes' | 'chats'>): string[] {
  const begun = [
    ...Object.entries(config.routes).map(([name, route]) => ({ ...route, place: `routes.${name}` })),
    ...Object.entries(config.chats)
      .filter(([, { enabled, conversations }]) => enabled && conversations)
      .map(([name, chat]) => ({ ...chat, place: `chats.${name}`, deliver_only: false })),
  ];
  return begun.flatMap(({ place, ...route }) => {
    const agent = agentNamed(config as Config, route.agent);
    if (route.deliver_only || agent === undefined) return [];
    if (!(route.toolsets ?? toolsetsOf(agent)).includes('terminal')) return [];
    const rules = toolPolicyOf(config, route)?.policy ?? [];
    if (rules.some(({ tool }) => tool === 'terminal' || tool === '*')) return [];
    return `${place}: its agent \`${route.agent}\` runs any command that the model writes (toolset terminal), and no rule of \`tools.policy\` is about that. Add rules to ${place}.tools or agents.${route.agent}.tools`;
  });
}

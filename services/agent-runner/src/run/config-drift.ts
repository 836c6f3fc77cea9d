import { isConfigured, isKnownTarget } from '@angelia/config';
import type { AgentConfig, Config } from '@angelia/contracts';
import type { SessionState } from '@angelia/session';
import type { FailureCode } from './failures.ts';

/**
 * What the operator has taken back since the session was accepted: then its turn is not carried out, and fails with
 * the reason. Asked whenever a run starts. A route that was changed or deleted is nothing of this kind
 * (config-is-a-fact); the targets' credentials and what routes made by API may do are the operator's at any time.
 */
export function goneSince(
  created: SessionState['created'],
  config: Config,
): { readonly code: FailureCode; readonly message: string } | null {
  if (created === null) return null;
  const targets = [created.deliver, created.fallbackTarget].flatMap((target) => target?.target ?? []);
  if (!targets.some((name) => isKnownTarget(name) && isConfigured(config, name))) {
    return {
      code: 'target_missing',
      message: `target ${targets.join(' and ')} of this session is not configured any more`,
    };
  }
  const refused = created.apiRoute ? refusedToApiRoutes(created, config) : [];
  return refused.length === 0
    ? null
    : {
        code: 'not_allowed',
        message: `${refused.join(', ')}: not allowed any more to routes made by API (api_routes.allowed_toolsets)`,
      };
}

/** A program with the sender's text as its input is a terminal by another name (as when the route is made). */
function refusedToApiRoutes(
  { agent: name, toolsets }: NonNullable<SessionState['created']>,
  { agents, api_routes }: Config,
): string[] {
  const agent: AgentConfig | undefined = Object.hasOwn(agents, name) ? agents[name] : undefined;
  const used = agent?.kind === 'command' ? ['terminal'] : (toolsets ?? toolsetsOf(agent));
  return used.filter((toolset) => !api_routes.allowed_toolsets.includes(toolset));
}

function toolsetsOf(agent: AgentConfig | undefined): readonly string[] {
  return agent !== undefined && 'toolsets' in agent ? agent.toolsets : [];
}

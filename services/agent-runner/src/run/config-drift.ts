import { isConfigured, isKnownTarget } from '@angelia/config';
import type { AgentConfig, Config } from '@angelia/contracts';
import type { SessionState } from '@angelia/session';
import type { FailureCode } from './failures.ts';

/**
 * Finds what the operator has withdrawn since the session was accepted. Then the turn is not carried out and fails for
 * that reason. Checked whenever a run starts. A changed or deleted route is not drift (config-is-a-fact), but the
 * credentials of targets and the permissions of routes made by API are the operator's to withdraw at any time.
 */
export function findConfigDrift(
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

/** A program that gets the sender's text as input counts as a terminal, as it does when the route is made. */
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

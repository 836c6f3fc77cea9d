import type { Config } from '@angelia/contracts';
import { permissionOf } from '@angelia/session';
import type { Call } from './tool-call.ts';

/** Why this session may not run commands at all; null if it may. */
export function terminalRefusal(
  call: Pick<Call, 'loaded'>,
  { config }: { readonly config: Config },
): string | null {
  const { created } = call.loaded.state;
  if (created === null) return 'there is no such session';
  const agent = Object.hasOwn(config.agents, created.agent) ? config.agents[created.agent] : undefined;
  const own = agent?.kind === 'llm' ? agent.toolsets : [];
  // The agent must have it as well: if no agent has it, nobody who can write to the log gets a command carried out.
  const allowed = own.includes('terminal') && (created.toolsets ?? own).includes('terminal');
  return allowed ? null : 'this route does not allow the toolset `terminal`';
}

/**
 * Why this call may not run with these arguments; null if it may. The runner has checked it, too. This is the place where
 * commands run, so it relies on nothing but the log (invariant approved-is-what-runs).
 */
export function approvalRefusal(call: Pick<Call, 'loaded' | 'callId' | 'tool' | 'arguments'>): string | null {
  switch (permissionOf(call.loaded.state, call).kind) {
    case 'allowed':
      return null;
    case 'denied':
      return 'the policy of this session denies this call';
    case 'changed':
      return 'the arguments of this call are not those that were approved';
    case 'ask':
      return 'this call needs an approval, and has none';
  }
}

/** For a command that the host has no capacity for. */
export function hostFullMessage(config: Config): string {
  return `${config.process_watcher.max_processes} commands run at once already, which is the limit: try again later`;
}

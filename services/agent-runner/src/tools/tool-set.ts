import type { LlmAgentConfig } from '@angelia/contracts';
import type { FailureCode } from '../run/failures.ts';
import type { Tool } from './tool.ts';

/** Tools by their names: what one run has. */
export type ToolSet = ReadonlyMap<string, Tool>;

/** Gives the tools of a toolset (`terminal`, `clarify`, `mcp:<server>`); null: there is no such toolset here. */
export type Toolsets = (name: string) => readonly Tool[] | Promise<readonly Tool[]> | null;

/** Thrown when a run cannot have a tool that it should have: it fails with this, and never goes on with less. */
export class ToolsetError extends Error {
  override readonly name = 'ToolsetError';
  readonly code: Extract<FailureCode, 'toolset_missing' | 'toolset_unavailable'>;

  constructor(code: ToolsetError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * What the agent may use, narrowed to what was captured for the session when it was accepted.
 * @throws ToolsetError
 */
export async function toolsOf(
  agent: Pick<LlmAgentConfig, 'toolsets'>,
  captured: readonly string[] | null,
  toolsets: Toolsets,
): Promise<ToolSet> {
  const tools = new Map<string, Tool>();
  for (const name of new Set(captured ?? agent.toolsets)) {
    const given = agent.toolsets.includes(name) ? await toolsets(name) : null;
    if (given === null) {
      throw new ToolsetError('toolset_missing', `toolset ${name} of this session is not configured any more`);
    }
    for (const tool of given) tools.set(tool.name, tool);
  }
  return tools;
}

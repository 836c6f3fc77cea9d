import { AngeliaError, type LlmAgentConfig } from '@angelia/contracts';
import type { FailureCode } from '../run/failures.ts';
import type { Tool } from './tool.ts';

/** The tools of one run, by name. */
export type ToolSet = ReadonlyMap<string, Tool>;

/** Returns the tools of a toolset (`terminal`, `clarify`, `mcp:<server>`). Null: this runner has no such toolset. */
export type Toolsets = (name: string) => readonly Tool[] | Promise<readonly Tool[]> | null;

/** Thrown when a run cannot have a tool that it should have. The run fails; it never continues with fewer tools. */
export class ToolsetError extends AngeliaError {
  override readonly name = 'ToolsetError';
  readonly code: Extract<FailureCode, 'toolset_missing' | 'toolset_unavailable'>;

  constructor(code: ToolsetError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get retryable(): boolean {
    return this.code === 'toolset_unavailable';
  }
}

/**
 * The tools that the agent may use, narrowed to those captured when the session was accepted.
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

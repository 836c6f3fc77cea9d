import { processTool } from './background-process.ts';
import { clarifyTool } from './clarify.ts';
import type { McpServers } from './mcp/mcp-servers.ts';
import { terminalTool } from './terminal.ts';
import type { Toolsets } from './tool-set.ts';

/** Every toolset that a run may have, by its name in the config. */
export function provideToolsets(mcp: Pick<McpServers, 'toolset'>): Toolsets {
  return (name) => {
    switch (name) {
      case 'terminal':
        return [terminalTool, processTool];
      case 'clarify':
        return [clarifyTool];
      default:
        return mcp.toolset(name);
    }
  };
}

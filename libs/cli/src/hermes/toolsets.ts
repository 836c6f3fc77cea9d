import type { Notes } from './notes.ts';

/** What webhooks may do here when a route says nothing, of what Hermes allows them (web, vision, clarify). */
export const DEFAULT_TOOLSETS = ['clarify'];

/** Of Hermes' toolsets those that exist here, and a note for each other. */
export function importToolsets(
  place: string,
  names: readonly string[],
  mcpServers: readonly string[],
  notes: Notes,
): string[] {
  const toolsets = new Set<string>();
  for (const name of names) {
    const server = mcpServers.find((one) => name === one || name === `mcp-${one}` || name === `mcp:${one}`);
    if (name === 'terminal' || name === 'clarify') toolsets.add(name);
    else if (server !== undefined) toolsets.add(`mcp:${server}`);
    else {
      notes.add(
        place,
        `there is no toolset ${name} here`,
        ['file', 'code_execution'].includes(name)
          ? 'the toolset `terminal` reads, writes and runs files; add it if senders of this route are trusted'
          : 'give the agent an MCP server that does it (`mcp_servers`, then `mcp:<name>` under toolsets)',
      );
    }
  }
  return [...toolsets];
}

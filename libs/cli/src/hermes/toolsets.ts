import type { Notes } from './notes.ts';

/** The default toolsets of webhooks here. Hermes has web, vision and clarify. */
export const DEFAULT_TOOLSETS = ['clarify'];

/** Those of Hermes' toolsets that exist here. Each other one gets a note. */
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
          ? 'the toolset `terminal` reads, writes and runs files; add it if you trust the senders of this route'
          : 'use an MCP server that does this (`mcp_servers`, then `mcp:<name>` under toolsets)',
      );
    }
  }
  return [...toolsets];
}

import type { Config } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { RunnerTool } from '../tool.ts';
import { McpServer } from './mcp-server.ts';

export const MCP_SERVERS = Symbol('MCP_SERVERS');
const PREFIX = 'mcp:';

/** The servers of `mcp_servers`. Each is started when a run first needs its tools, and closed with this service. */
export class McpServers {
  readonly #servers: ReadonlyMap<string, McpServer>;

  constructor(config: Pick<Config, 'mcp_servers'>, logger: Logger) {
    this.#servers = new Map(
      Object.entries(config.mcp_servers).map(([name, server]) => [name, new McpServer(name, server, logger)]),
    );
  }

  /** The tools of toolset `mcp:<server>`. Null: the config has no such server. @throws ToolsetError */
  toolset(name: string): Promise<readonly RunnerTool[]> | null {
    if (!name.startsWith(PREFIX)) return null;
    return this.#servers.get(name.slice(PREFIX.length))?.tools() ?? null;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }
}

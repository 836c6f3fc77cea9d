import { isDeepStrictEqual } from 'node:util';
import type { Config, McpServerConfig } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { RunnerTool } from '../tool.ts';
import { McpServer } from './mcp-server.ts';

const PREFIX = 'mcp:';

/** A server that a new config did not change is shared with the config before it, with its connection. */
interface SharedServer {
  readonly server: McpServer;
  readonly config: McpServerConfig;
  /** How many configs that are still in use have it. */
  users: number;
}

/** The servers of `mcp_servers`. Each is started when a run first needs its tools, and closed with its last config. */
export class McpServers {
  readonly #servers: ReadonlyMap<string, SharedServer>;

  constructor(config: Pick<Config, 'mcp_servers'>, logger: Logger, previous: McpServers | null = null) {
    this.#servers = new Map(
      Object.entries(config.mcp_servers).map(([name, server]) => {
        const known = previous === null ? undefined : previous.#servers.get(name);
        const shared: SharedServer =
          known !== undefined && isDeepStrictEqual(known.config, server)
            ? known
            : { server: new McpServer(name, server, logger), config: server, users: 0 };
        shared.users += 1;
        return [name, shared];
      }),
    );
  }

  /** The tools of toolset `mcp:<server>`. Null: the config has no such server. @throws ToolsetError */
  toolset(name: string): Promise<readonly RunnerTool[]> | null {
    if (!name.startsWith(PREFIX)) return null;
    return this.#servers.get(name.slice(PREFIX.length))?.server.tools() ?? null;
  }

  async close(): Promise<void> {
    const unused = [...this.#servers.values()].filter((shared) => {
      shared.users -= 1;
      return shared.users === 0;
    });
    await Promise.all(unused.map(({ server }) => server.close()));
  }
}

import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Config, FilterConfig } from '@angelia/contracts';

/** Paths in the config are seen from where the config file is, not from where a service happens to be started. */
export function resolvePaths(config: Config, base: string): Config {
  const { scripts, skills, exports } = config.directories;
  return {
    ...config,
    directories: {
      scripts: placed(base, scripts),
      skills: placed(base, skills),
      exports: placed(base, exports),
    },
    agents: Object.fromEntries(
      Object.entries(config.agents).map(([name, agent]) => [
        name,
        agent.kind === 'command' && agent.cwd !== undefined
          ? { ...agent, cwd: placed(base, agent.cwd) }
          : agent,
      ]),
    ),
    process_watcher: {
      ...config.process_watcher,
      read_paths: config.process_watcher.read_paths.map((path) => placed(base, path)),
      write_paths: config.process_watcher.write_paths.map((path) => placed(base, path)),
    },
    mcp_servers: Object.fromEntries(
      Object.entries(config.mcp_servers).map(([name, server]) => [
        name,
        // A program of the operator's: it finds its files from where the config is, as the operator does.
        server.command === undefined ? server : { ...server, cwd: placed(base, server.cwd ?? '.') },
      ]),
    ),
    routes: Object.fromEntries(
      Object.entries(config.routes).map(([name, route]) => [
        name,
        { ...route, filters: route.filters.map((filter) => placeFilter(filter, base)) },
      ]),
    ),
  };
}

function placeFilter(filter: FilterConfig, base: string): FilterConfig {
  const { in_file: path, all, any, not } = filter;
  const inner = (filters: FilterConfig[]) => filters.map((each) => placeFilter(each, base));
  return {
    ...filter,
    ...(path === undefined ? {} : { in_file: placed(base, path) }),
    ...(all === undefined ? {} : { all: inner(all) }),
    ...(any === undefined ? {} : { any: inner(any) }),
    ...(not === undefined ? {} : { not: placeFilter(not, base) }),
  };
}

function placed(base: string, path: string): string {
  return resolve(base, path === '~' || path.startsWith('~/') ? `${homedir()}${path.slice(1)}` : path);
}

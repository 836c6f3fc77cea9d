import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Config, FilterConfig } from '@angelia/contracts';

/** Paths in the config are relative to the config file, not to the directory in which a service is started. */
export function resolvePaths(config: Config, base: string): Config {
  const { scripts, skills, exports } = config.directories;
  return {
    ...config,
    directories: {
      scripts: absolute(base, scripts),
      skills: absolute(base, skills),
      exports: absolute(base, exports),
    },
    agents: Object.fromEntries(
      Object.entries(config.agents).map(([name, agent]) => [
        name,
        agent.kind === 'command'
          ? {
              ...agent,
              ...(agent.cwd === undefined ? {} : { cwd: absolute(base, agent.cwd) }),
              shared_dirs: agent.shared_dirs.map((path) => absolute(base, path)),
            }
          : agent,
      ]),
    ),
    process_watcher: {
      ...config.process_watcher,
      read_paths: config.process_watcher.read_paths.map((path) => absolute(base, path)),
      write_paths: config.process_watcher.write_paths.map((path) => absolute(base, path)),
    },
    mcp_servers: Object.fromEntries(
      Object.entries(config.mcp_servers).map(([name, server]) => [
        name,
        // A program of the operator's starts beside the config, where it finds its files.
        server.command === undefined ? server : { ...server, cwd: absolute(base, server.cwd ?? '.') },
      ]),
    ),
    routes: Object.fromEntries(
      Object.entries(config.routes).map(([name, route]) => [
        name,
        { ...route, filters: route.filters.map((filter) => resolveFilter(filter, base)) },
      ]),
    ),
  };
}

function resolveFilter(filter: FilterConfig, base: string): FilterConfig {
  const { in_file: path, all, any, not } = filter;
  const inner = (filters: FilterConfig[]) => filters.map((each) => resolveFilter(each, base));
  return {
    ...filter,
    ...(path === undefined ? {} : { in_file: absolute(base, path) }),
    ...(all === undefined ? {} : { all: inner(all) }),
    ...(any === undefined ? {} : { any: inner(any) }),
    ...(not === undefined ? {} : { not: resolveFilter(not, base) }),
  };
}

function absolute(base: string, path: string): string {
  return resolve(base, path === '~' || path.startsWith('~/') ? `${homedir()}${path.slice(1)}` : path);
}

import { resolve } from 'node:path';
import type { Config, ConfigProblem } from '@angelia/contracts';
import { isInside } from '../files/path-inside.ts';
import { agentsThatRunCommands } from './agents.ts';

/**
 * What process-watcher refuses on every host, as far as the config and the data directory tell. What depends on the host,
 * such as namespaces, is seen only at its start (choose-isolation.ts).
 */
export function commandProblems(
  config: Pick<Config, 'agents' | 'process_watcher'>,
  dataDirectory: string,
): ConfigProblem[] {
  if (agentsThatRunCommands(config).length === 0) return [];
  if (config.process_watcher.run_as !== 'same') return sharedDataProblems(config, dataDirectory);
  return ownNetworkProblems(config, '`run_as: same` runs commands without namespaces');
}

export function ownNetworkProblems(
  { process_watcher }: Pick<Config, 'process_watcher'>,
  reason: string,
): ConfigProblem[] {
  const { network } = process_watcher;
  if (network === 'host') return [];
  return [{ place: 'process_watcher.network', reason: `${network} is not possible here: ${reason}` }];
}

/** Commands do not see the data directory. */
function sharedDataProblems({ agents }: Pick<Config, 'agents'>, dataDirectory: string): ConfigProblem[] {
  const data = resolve(dataDirectory);
  return Object.entries(agents).flatMap(([name, agent]): ConfigProblem[] =>
    agent.kind !== 'command'
      ? []
      : agent.shared_dirs
          .filter((path) => isInside(resolve(path), data) || isInside(data, resolve(path)))
          .map((path) => ({
            place: `agents.${name}.shared_dirs`,
            reason: `${path} holds the data directory (${data}), or is in it, which commands do not see. Name another directory.`,
          })),
  );
}

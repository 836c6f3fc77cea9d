import { isDeepStrictEqual } from 'node:util';
import type { Config } from '@angelia/contracts';
import type { ServiceSettings } from '@angelia/service-kit';
import { chooseIsolation } from './isolation/choose-isolation.ts';
import type { Isolation } from './isolation/isolation.ts';
import { SessionDirectories } from './session-directories.ts';
import { chooseUserPolicy, type UserPolicy } from './users/user-policy.ts';

/** What process-watcher makes of a config. */
export interface WatcherSettings {
  /** It follows from `run_as`, which is fixed while the service runs. */
  readonly userPolicy: UserPolicy;
  readonly directories: SessionDirectories;
  readonly isolation: Isolation;
  /** What the isolation was chosen for. */
  readonly chosenFor: Pick<Config, 'agents' | 'process_watcher'>;
}

export const watcherSettings: ServiceSettings<WatcherSettings> = {
  make: ({ config, path, demo }, { environment, previous }) => {
    const { agents, process_watcher } = config;
    const { dataDirectory } = environment;
    const userPolicy = previous?.userPolicy ?? chooseUserPolicy(process_watcher);
    const directories = previous?.directories ?? new SessionDirectories(dataDirectory, userPolicy);
    const chosenFor = { agents, process_watcher };
    // Choosing starts programs to see what this host allows.
    const isolation =
      previous !== null && isDeepStrictEqual(previous.chosenFor, chosenFor)
        ? previous.isolation
        : chooseIsolation({
            config,
            users: userPolicy,
            directories,
            dataDirectory,
            configFile: demo ? null : path,
          });
    return { userPolicy, directories, isolation, chosenFor };
  },
};

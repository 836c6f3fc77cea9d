import { existsSync } from 'node:fs';
import {
  agentsThatRunCommands,
  ConfigUnusable,
  commandProblems,
  isInside,
  ownNetworkProblems,
  StartupError,
} from '@angelia/config';
import type { Config, ConfigProblem } from '@angelia/contracts';
import type { UserPolicy } from '../users/user-policy.ts';
import { bubblewrap } from './bubblewrap.ts';
import { type FindProgram, findProgramIn } from './find-program.ts';
import { hiddenFrom } from './hidden-paths.ts';
import type { Isolation } from './isolation.ts';
import { namespaces } from './namespaces.ts';
import { ownUser } from './own-user.ts';
import type { ProbeDirectories } from './probe.ts';

interface ChooseOptions {
  readonly config: Config;
  readonly users: Pick<UserPolicy, 'separateUsers'>;
  readonly directories: ProbeDirectories;
  readonly dataDirectory: string;
  /** Null for the built-in demo config. */
  readonly configFile: string | null;
  readonly find?: FindProgram;
}

/**
 * Chooses the strongest isolation that this host allows:
 *
 *   root, may mount -----> namespaces, own user      root, may not (a container) --> own user
 *   not root, bubblewrap -> namespaces               not root, without ------------> refused
 *   run_as: same --------> none, as the config says
 *
 * Never accepts less than a user or namespaces of its own without a word (no-silent-downgrade): a model's command could
 * then read every secret of the services and the whole database.
 * @throws StartupError that says what is missing and what to do
 */
export function chooseIsolation(options: ChooseOptions): Isolation {
  const { config, users } = options;
  const agents = agentsThatRunCommands(config);
  const { process_watcher } = config;
  if (agents.length === 0) return none('none needed, as no agent of the config runs commands', null);
  refuse(commandProblems(config, options.dataDirectory));
  if (process_watcher.run_as === 'same') {
    return none(
      'none (run_as: same)',
      `process_watcher.run_as: same: commands run without isolation. Anybody who controls the agents ${agents.join(', ')} can read the services' secrets and the whole database, and can end the services`,
    );
  }
  const parts = {
    config: process_watcher,
    hidden: () => hiddenFrom(options.dataDirectory, options.configFile),
    directories: options.directories,
    find: options.find ?? findProgramIn(process.env.PATH ?? ''),
  };
  if (users.separateUsers) {
    const attempt = namespaces(parts);
    if (attempt.ok) return attempt.isolation;
    refuse(ownNetworkProblems(config, attempt.reason));
    return ownUser(parts.find, attempt.reason);
  }
  refuseBadPaths(config);
  const attempt = bubblewrap(parts);
  if (!attempt.ok) throw new StartupError([refusal(agents, attempt.reason)]);
  refuseUnseenPrograms(config, attempt.sees ?? (() => true));
  return attempt.isolation;
}

function none(summary: string, warning: string | null): Isolation {
  return {
    kind: 'none',
    summary,
    warning,
    enclose: (program) => ({ ...program, becomesUser: false }),
  };
}

function refusal(agents: readonly string[], reason: string): string {
  return [
    `agents.${agents[0]} runs commands, but process-watcher is not root and cannot isolate them here: ${reason}.`,
    'Do one of these: install bubblewrap (Debian, Ubuntu: apt install bubblewrap) and allow unprivileged user namespaces; start as root;',
    "or set process_watcher.run_as: same, which lets every command read the services' secrets and the whole database",
  ].join(' ');
}

function refuse(problems: readonly ConfigProblem[]): void {
  if (problems.length > 0) throw new ConfigUnusable(problems);
}

function refuseBadPaths({ process_watcher }: Config): void {
  const problems = (['read_paths', 'write_paths'] as const).flatMap((key) =>
    process_watcher[key].flatMap((path): ConfigProblem[] => {
      const place = `process_watcher.${key}`;
      // / is the whole host, which commands must not see.
      if (path === '/') return [{ place, reason: 'name directories or files below /, not / itself' }];
      return existsSync(path) ? [] : [{ place, reason: `there is no ${path}` }];
    }),
  );
  refuse(problems);
}

/** An agent's program that commands cannot see would fail at every turn. */
function refuseUnseenPrograms({ agents }: Config, sees: (path: string) => boolean): void {
  const unseen = Object.entries(agents).flatMap(([name, agent]) => {
    if (agent.kind !== 'command') return [];
    const paths = [
      { key: 'command', path: agent.command[0] },
      { key: 'cwd', path: agent.cwd },
    ];
    const isShared = (path: string) => agent.shared_dirs.some((shared) => isInside(path, shared));
    return paths.flatMap(({ key, path }) =>
      path?.startsWith('/') && !sees(path) && !isShared(path)
        ? [
            {
              place: `agents.${name}.${key}`,
              reason: `commands do not see ${path}: add it, or a directory above it, to process_watcher.read_paths or write_paths`,
            },
          ]
        : [],
    );
  });
  refuse(unseen);
}

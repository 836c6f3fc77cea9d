import { realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { LoadedConfig } from '../load/load.ts';

/** Files where people keep the variables that their config names. `import-hermes` writes the second (docs/cli.md). */
const VARIABLE_FILES = ['.env', 'angelia.env'];
const OTHERS_MAY_READ = 0o004;
const OTHERS_MAY_ENTER = 0o001;

/**
 * If an agent has `terminal`, the model's commands can read every file that everybody on the machine may read. Returns one
 * line for each such file that holds, or may hold, our secrets. process-watcher asks at its start (in a container, about
 * the file as it is mounted there), and the local stack before it starts.
 */
export function exposedFileProblems(loaded: LoadedConfig, cwd = process.cwd()): string[] {
  const agents = Object.entries(loaded.config.agents)
    .filter(([, agent]) => agent.kind === 'llm' && agent.toolsets.includes('terminal'))
    .map(([name]) => name);
  const [agent] = agents;
  if (agent === undefined) return [];
  const directories = new Set([resolve(cwd), dirname(resolve(cwd, loaded.path))]);
  const files = [
    // The built-in demo is part of the program and holds no secret.
    ...(loaded.demo ? [] : [resolve(cwd, loaded.path)]),
    ...[...directories].flatMap((directory) => VARIABLE_FILES.map((name) => join(directory, name))),
  ];
  return files.flatMap((file) => {
    const mode = openMode(file);
    if (mode === null) return [];
    return `${file}: has mode ${mode.toString(8)}, so every command of agents.${agent} (toolset terminal) can read it. Run chmod 600 ${file} (for a mounted file, run it on the original, or mount it with mode 0400)`;
  });
}

/** The mode of a file that everybody can reach and read; null if they cannot, or if there is no such file. */
function openMode(path: string): number | null {
  try {
    const file = realpathSync(path);
    const { mode } = statSync(file);
    if ((mode & OTHERS_MAY_READ) === 0) return null;
    for (let directory = dirname(file); ; directory = dirname(directory)) {
      if ((statSync(directory).mode & OTHERS_MAY_ENTER) === 0) return null;
      if (directory === dirname(directory)) return mode & 0o777;
    }
  } catch (error) {
    // Missing, or closed to us: then it is closed to commands too, which have fewer rights.
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(String((error as NodeJS.ErrnoException).code))) return null;
    throw error;
  }
}

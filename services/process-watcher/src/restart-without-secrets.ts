import { fileURLToPath } from 'node:url';
import { commandVariables } from '@angelia/config/command-variables';

/** Set by `restartWithoutSecrets` for the process that it becomes, so that this happens once. */
const IS_BARE = 'ANGELIA_ENVIRONMENT_IS_BARE';

/**
 * The services of one installation usually share one environment, which holds the keys of models and platforms. The
 * service that runs a model's commands must not keep them: it replaces itself (execve, same pid) with a process that has
 * only the variables it needs, so that the keys are neither in /proc/<pid>/environ nor in its memory. It keeps the
 * variables that `agents` and `process_watcher` in the config name.
 */
export function restartWithoutSecrets(mainUrl: string): void {
  if (process.env[IS_BARE] !== undefined || process.execve === undefined) return;
  const mayHold = commandVariables(process.env);
  const kept = Object.entries(process.env).filter(([name]) => mayHold(name));
  if (kept.length === Object.keys(process.env).length) return;
  process.execve(
    process.execPath,
    [process.execPath, ...process.execArgv, fileURLToPath(mainUrl)],
    Object.fromEntries([...kept, [IS_BARE, 'yes']]) as NodeJS.ProcessEnv,
  );
}

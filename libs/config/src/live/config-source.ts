import { resolve } from 'node:path';
import { exposedFileProblems } from '../check/exposed-files.ts';
import { type ServiceName, variables } from '../environment.ts';
import { withCommandEnvFile } from '../load/command-config.ts';
import { type ConfigFile, configPath, readText, shownPath } from '../load/config-file.ts';
import { envFilePath, withDefaults, withEnvFile } from '../load/env-file.ts';
import { keepText, keptPath, keptText } from '../load/kept-config.ts';
import { type LoadedConfig, loadCommandConfigText, loadConfigText } from '../load/load.ts';
import { ConfigRefused, ConfigUnusable, StartupError } from '../startup-error.ts';

/** The text of a config, and the variables that it may name. */
export interface ConfigText {
  readonly text: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Where one service gets its config from. The path is decided once: a file that vanishes is not replaced by the demo. */
export interface ConfigSource {
  readonly file: ConfigFile;
  /** The files whose change may change the config. */
  readonly watched: readonly string[];
  /** @throws ConfigRefused if the file cannot be read */
  read(): ConfigText;
  /** The last good copy of the file, if there is one. */
  readKept(): ConfigText | null;
  keep(text: string): void;
  readonly keptAt: string;
  /** @throws ConfigRefused */
  load(from: ConfigText): LoadedConfig;
  /** Variables of the environment for which `.env` has another value than the service uses. It does not read them again. */
  changedSettings(env: NodeJS.ProcessEnv): string[];
}

/** @param env the environment of the process, without `.env` */
export function configSource(service: ServiceName, env: NodeJS.ProcessEnv): ConfigSource {
  const file = absolute(configPath(env));
  const runsCommands = service === 'process-watcher';
  const within = (given: NodeJS.ProcessEnv) =>
    runsCommands ? withCommandEnvFile(given, file) : withEnvFile(given, file);
  const atStart = within(env);
  const { given, launcher } = byOrigin(env);
  const environment = () => withDefaults(within(given), launcher);
  const envFile = envFilePath(file);
  return {
    file,
    watched: file.demo ? [] : [file.path, ...(envFile === null ? [] : [envFile])],
    read: () => ({ text: readText(file.path), env: environment() }),
    readKept: () => {
      const text = keptText(service, file, atStart);
      return text === null ? null : { text, env: environment() };
    },
    keep: (text) => keepText(service, file, text, atStart),
    keptAt: keptPath(service, atStart),
    load: (from) => (runsCommands ? loadForCommands(from, file) : loadConfigText(from.text, file, from.env)),
    changedSettings: (now) =>
      Object.keys(variables.shape).filter((name) => (now[name] || '') !== (atStart[name] || '')),
  };
}

/**
 * Names the variables that the launcher of the local stack decided, by its own reading of `.env`. It has passed them on in
 * the environment, where they must not hide that `.env` has other values by now.
 */
const SET_BY_LAUNCHER = 'ANGELIA_SET_BY_LAUNCHER';

function byOrigin(env: NodeJS.ProcessEnv) {
  const names = new Set((env[SET_BY_LAUNCHER] ?? '').split(','));
  const isSetByLauncher = ([name]: [string, unknown]) => names.has(name);
  const entries = Object.entries(env);
  return {
    given: Object.fromEntries(entries.filter((entry) => !isSetByLauncher(entry))) as NodeJS.ProcessEnv,
    launcher: Object.fromEntries(entries.filter(isSetByLauncher)) as Record<string, string>,
  };
}

/** process-watcher reads only what running commands needs: the rest of the config holds secrets. */
function loadForCommands({ text, env }: ConfigText, file: ConfigFile): LoadedConfig {
  let loaded: LoadedConfig;
  try {
    loaded = loadCommandConfigText(text, file, env);
  } catch (error) {
    throw error instanceof ConfigRefused ? explainMissingVariables(error, file) : error;
  }
  const problems = exposedFileProblems(loaded);
  if (problems.length > 0) throw new StartupError(problems);
  return loaded;
}

/** The variable may well be set for the other services. */
function explainMissingVariables(error: ConfigRefused, file: ConfigFile): ConfigRefused {
  const advice =
    ' for process-watcher, which drops what its part of the config did not name when it started: restart it, or write the variable into .env';
  return new ConfigRefused(
    shownPath(file.path),
    error.problems.map((problem) =>
      /^the environment variable \w+ is not set$/.test(problem.message)
        ? { ...problem, message: problem.message + advice }
        : problem,
    ),
  );
}

/** The problems of a config that loads, with their places in the file. */
export function located(error: StartupError, loaded: LoadedConfig): StartupError {
  return error instanceof ConfigUnusable ? loaded.refusal(error.problems) : error;
}

function absolute(file: ConfigFile): ConfigFile {
  return { ...file, path: resolve(file.path) };
}

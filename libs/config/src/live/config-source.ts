import { resolve } from 'node:path';
import { exposedFileProblems } from '../check/exposed-files.ts';
import { type ServiceName, variables } from '../environment.ts';
import { withCommandEnvFile } from '../load/command-config.ts';
import { type ConfigFile, configPath, readText, shownPath } from '../load/config-file.ts';
import { envFilePath, withEnvFile } from '../load/env-file.ts';
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
  /** Variables of the environment that `.env` changed since the start. A running service does not read them again. */
  changedSettings(env: NodeJS.ProcessEnv): string[];
}

/** @param env the environment of the process, without `.env` */
export function configSource(service: ServiceName, env: NodeJS.ProcessEnv): ConfigSource {
  const file = absolute(configPath(env));
  const runsCommands = service === 'process-watcher';
  const environment = () => (runsCommands ? withCommandEnvFile(env, file) : withEnvFile(env, file));
  const atStart = environment();
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

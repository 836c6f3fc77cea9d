import { dirname, resolve } from 'node:path';
import { type Config, type ConfigProblem, parseConfig } from '@angelia/contracts';
import { crossReferenceProblems } from '../check/cross-references.ts';
import { StartupError } from '../startup-error.ts';
import { type AddressVariables, addressVariables, keepAddressVariables } from './address-variables.ts';
import { commandConfigOf } from './command-config.ts';
import { configPath, parseYaml, readText } from './config-file.ts';
import { resolvePaths } from './resolve-paths.ts';
import { interpolate } from './variables.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Where it was read from. */
  readonly path: string;
  /** No config file was found: this is the built-in demo. */
  readonly demo: boolean;
  /** For whoever sends: addresses name variables. */
  readonly addressVariables: AddressVariables;
}

/** @throws StartupError with one line per problem, each with its place in the file. */
export function loadConfig(env: NodeJS.ProcessEnv): LoadedConfig {
  const { path, demo } = configPath(env);
  const text = readText(path);
  const config = parseConfigText(text, env, path);
  return {
    config: resolvePaths(config, demo ? process.cwd() : dirname(resolve(path))),
    path,
    demo,
    addressVariables: addressVariables(parseYaml(text, path), env),
  };
}

/**
 * The part of the config that commands are run by. Nothing else is read: whoever gets hold of the service that runs
 * the model's commands finds no model key, no credential of a target and no secret of a route there, and need not be
 * given the variables that they stand in. Whether the parts fit together is checked by the other services.
 * @throws StartupError as loadConfig
 */
export function loadCommandConfig(env: NodeJS.ProcessEnv): LoadedConfig {
  const { path, demo } = configPath(env);
  const written = parseYaml(readText(path), path);
  const missing: ConfigProblem[] = [];
  const raw = interpolate(commandConfigOf(written), env, missing);
  refuse(missing, path);
  const parsed = parseConfig(raw);
  if (!parsed.ok) throw refusal(parsed.problems, path);
  return {
    config: resolvePaths(parsed.config, demo ? process.cwd() : dirname(resolve(path))),
    path,
    demo,
    addressVariables: () => ({ reason: 'nothing is sent from here' }),
  };
}

/** The steps of loading. One that finds problems ends it, as the next would only add their echoes. */
export function parseConfigText(text: string, env: NodeJS.ProcessEnv, path: string): Config {
  const written = parseYaml(text, path);
  const missing: ConfigProblem[] = [];
  const raw = interpolate(written, env, missing);
  refuse(missing, path);
  const parsed = parseConfig(raw);
  if (!parsed.ok) throw refusal(parsed.problems, path);
  refuse(crossReferenceProblems(parsed.config, env.ANGELIA_HOST || '127.0.0.1'), path);
  return keepAddressVariables(parsed.config, written, env);
}

function refuse(problems: readonly ConfigProblem[], path: string): void {
  if (problems.length > 0) throw refusal(problems, path);
}

function refusal(problems: readonly ConfigProblem[], path: string): StartupError {
  return new StartupError(problems.map(({ place, reason }) => `${place}: ${reason} (in ${path})`));
}

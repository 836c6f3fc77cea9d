import { dirname, resolve } from 'node:path';
import { type Config, type ConfigProblem, parseConfig } from '@angelia/contracts';
import { crossReferenceProblems } from '../check/cross-references.ts';
import { DEFAULT_HOST } from '../environment.ts';
import { StartupError } from '../startup-error.ts';
import {
  type AddressVariables,
  addressVariables,
  keepAddressVariables,
  objectAt,
} from './address-variables.ts';
import { commandConfigOf } from './command-config.ts';
import { configPath, parseYaml, readText } from './config-file.ts';
import { resolvePaths } from './resolve-paths.ts';
import { fillVariables } from './variables.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Where it was read from. */
  readonly path: string;
  /** No config file was found: this is the built-in demo. */
  readonly demo: boolean;
  /** The values of the variables that addresses name; for delivery. */
  readonly addressVariables: AddressVariables;
}

/** @throws StartupError with one line per problem, each with its place in the file */
export function loadConfig(env: NodeJS.ProcessEnv): LoadedConfig {
  const { path, demo } = configPath(env);
  const text = readText(path);
  const config = parseConfigText(text, env, path);
  return {
    config: resolvePaths(config, baseOf(path, demo)),
    path,
    demo,
    addressVariables: addressVariables(parseYaml(text, path), env),
  };
}

/**
 * The part of the config that running commands needs. The rest is not read: the service that runs the model's commands
 * holds no model key, no credential of a target and no secret of a route, and does not need the variables for them. The
 * other services check whether all parts fit together.
 * @throws StartupError as loadConfig does
 */
export function loadCommandConfig(env: NodeJS.ProcessEnv): LoadedConfig {
  const { path, demo } = configPath(env);
  const written = commandConfigOf(parseYaml(readText(path), path));
  return {
    config: resolvePaths(parseWritten(written, env, path), baseOf(path, demo)),
    path,
    demo,
    addressVariables: () => ({ reason: 'this service does not deliver' }),
  };
}

/** The steps of loading. A step that finds problems ends it: the next step would only repeat them in other words. */
export function parseConfigText(text: string, env: NodeJS.ProcessEnv, path: string): Config {
  const written = parseYaml(text, path);
  const config = parseWritten(written, env, path);
  const listenHost = env.ANGELIA_HOST || DEFAULT_HOST;
  refuse(crossReferenceProblems(config, listenHost, objectAt(written, 'targets')), path);
  return keepAddressVariables(config, written, env);
}

/** Fills in the variables, then checks each value. */
function parseWritten(written: unknown, env: NodeJS.ProcessEnv, path: string): Config {
  const missing: ConfigProblem[] = [];
  const filled = fillVariables(written, env, missing);
  refuse(missing, path);
  const parsed = parseConfig(filled, written);
  if (parsed.ok) return parsed.config;
  throw refusal(parsed.problems, path);
}

/** Paths of the built-in demo are relative to where it is started. */
function baseOf(path: string, demo: boolean): string {
  return demo ? process.cwd() : dirname(resolve(path));
}

function refuse(problems: readonly ConfigProblem[], path: string): void {
  if (problems.length > 0) throw refusal(problems, path);
}

function refusal(problems: readonly ConfigProblem[], path: string): StartupError {
  return new StartupError(problems.map(({ place, reason }) => `${place}: ${reason} (in ${path})`));
}

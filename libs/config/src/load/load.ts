import { dirname, resolve } from 'node:path';
import { type Config, type ConfigProblem, parseConfig } from '@angelia/contracts';
import { crossReferenceProblems } from '../check/cross-references.ts';
import { DEFAULT_HOST } from '../environment.ts';
import { markSecretEnvironment } from '../secrets/secret-environment.ts';
import { ConfigRefused } from '../startup-error.ts';
import {
  type AddressVariables,
  addressVariables,
  keepAddressVariables,
  objectAt,
} from './address-variables.ts';
import { commandConfigOf } from './command-config.ts';
import { type ConfigDocument, parseConfigDocument } from './config-document.ts';
import { type ConfigFile, configPath, readText, shownPath } from './config-file.ts';
import { resolvePaths } from './resolve-paths.ts';
import { fillVariables } from './variables.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Where it was read from. */
  readonly path: string;
  /** No config file was found: this is the built-in demo. */
  readonly demo: boolean;
  /** What the file says, with the names of variables and not their values. */
  readonly text: string;
  /** The values of the variables that addresses name; for delivery. */
  readonly addressVariables: AddressVariables;
  /** Gives problems that somebody else finds in this config their place in the file. */
  readonly refusal: (problems: readonly ConfigProblem[]) => ConfigRefused;
}

/** @throws ConfigRefused with one line per problem, each with its place in the file */
export function loadConfig(env: NodeJS.ProcessEnv): LoadedConfig {
  const file = configPath(env);
  return loadConfigText(readText(file.path), file, env);
}

export function loadConfigText(text: string, file: ConfigFile, env: NodeJS.ProcessEnv): LoadedConfig {
  const document = documentOf(text, file);
  return {
    ...file,
    text,
    config: resolvePaths(checkedConfig(document, env), baseOf(file)),
    addressVariables: addressVariables(document.written, env),
    refusal: (problems) => refusal(problems, document),
  };
}

/**
 * The part of the config that running commands needs. The rest is not read: the service that runs the model's commands
 * holds no model key, no credential of a target and no secret of a route, and does not need the variables for them. The
 * other services check whether all parts fit together.
 * @throws ConfigRefused as loadConfig does
 */
export function loadCommandConfig(env: NodeJS.ProcessEnv): LoadedConfig {
  const file = configPath(env);
  return loadCommandConfigText(readText(file.path), file, env);
}

export function loadCommandConfigText(text: string, file: ConfigFile, env: NodeJS.ProcessEnv): LoadedConfig {
  const document = documentOf(text, file);
  const part = commandConfigOf(document.written);
  return {
    ...file,
    text,
    config: resolvePaths(parseWritten(part, env, document), baseOf(file)),
    addressVariables: () => ({ reason: 'this service does not deliver' }),
    refusal: (problems) => refusal(problems, document),
  };
}

export function parseConfigText(text: string, env: NodeJS.ProcessEnv, path: string): Config {
  return checkedConfig(parseConfigDocument(text, path), env);
}

/** An empty file would drop every route. A full disk and an editor that is killed leave one; nobody writes one on purpose. */
function documentOf(text: string, { path }: ConfigFile): ConfigDocument {
  const document = parseConfigDocument(text, shownPath(path));
  if (document.written !== null) return document;
  throw refusal([{ place: '', reason: 'the file is empty. Write {} if you want no keys.' }], document);
}

/** The steps of loading. A step that finds problems ends it: the next step would only repeat them in other words. */
function checkedConfig(document: ConfigDocument, env: NodeJS.ProcessEnv): Config {
  const { written } = document;
  const config = parseWritten(written, env, document);
  const listenHost = env.ANGELIA_HOST || DEFAULT_HOST;
  refuse(crossReferenceProblems(config, listenHost, objectAt(written, 'targets')), document);
  return keepAddressVariables(config, written, env);
}

/** Fills in the variables, then checks each value. */
function parseWritten(written: unknown, env: NodeJS.ProcessEnv, document: ConfigDocument): Config {
  const missing: ConfigProblem[] = [];
  const filled = fillVariables(written, env, missing);
  refuse(missing, document);
  const parsed = parseConfig(filled, written);
  if (parsed.ok) return markSecretEnvironment(parsed.config, written);
  throw refusal(parsed.problems, document);
}

/** Paths of the built-in demo are relative to where it is started. */
function baseOf({ path, demo }: ConfigFile): string {
  return demo ? process.cwd() : dirname(resolve(path));
}

function refuse(problems: readonly ConfigProblem[], document: ConfigDocument): void {
  if (problems.length > 0) throw refusal(problems, document);
}

function refusal(problems: readonly ConfigProblem[], document: ConfigDocument): ConfigRefused {
  return new ConfigRefused(
    document.file,
    problems.map((problem) => document.located(problem)),
  );
}

import { readFileSync, statSync } from 'node:fs';
import {
  agentsThatRunCommands,
  checkEnvironment,
  exposedFileProblems,
  INSECURE_NO_AUTH,
  type LoadedConfig,
  loadConfig,
  outputLimitWarnings,
  publicUrlWarning,
  routeFileProblems,
  StartupError,
  secretValuesIn,
  uncheckedCommandWarnings,
} from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { parse } from 'yaml';
import { type Finding, fault, ok, warning } from './finding.ts';

export interface CheckedConfig {
  /** Null if it does not load. Then the checks that depend on it are skipped. */
  readonly config: Config | null;
  readonly findings: readonly Finding[];
}

export function checkConfig(env: NodeJS.ProcessEnv): CheckedConfig {
  let loaded: LoadedConfig;
  try {
    loaded = loadConfig(env);
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return { config: null, findings: error.lines.map((line) => fault('config', line, todoFor(line))) };
  }
  const { config, path, demo } = loaded;
  const routes = Object.keys(config.routes).length;
  const problems = Object.entries(config.routes).flatMap(([name, route]) =>
    routeFileProblems(name, route, config.directories),
  );
  return {
    config,
    findings: [
      ok(
        'config',
        `${demo ? 'the built-in demo config' : path} loads (${routes} route${routes === 1 ? '' : 's'})`,
      ),
      ...problems.map(({ place, reason }) =>
        fault('config.files', `${place}: ${reason}`, 'create the file, or remove the line from the config'),
      ),
      ...openRoutes(config),
      ...exposedFileProblems(loaded).map((line) =>
        fault('config.mode', line, 'close the file to other users; process-watcher refuses to start with it'),
      ),
      ...openCommands(config),
      ...uncheckedCommandWarnings(config).map((line) =>
        warning('config.tools', line, 'docs/agents.md shows rules that ask before a command does harm'),
      ),
      ...publicUrlFindings(config, env),
      ...outputLimitWarnings(config).map((line) =>
        warning('config.models', line, 'set max_output_tokens of that model in the config'),
      ),
      ...readableByOthers(path),
    ],
  };
}

function todoFor(line: string): string {
  const variable = /the environment variable (\w+) is not set/.exec(line)?.[1];
  if (variable !== undefined) {
    return `set ${variable} in the environment of the services (and of doctor), or remove \${${variable}} from the config`;
  }
  if (/unknown key/.test(line)) return 'correct or remove the key; docs/angelia.example.yaml lists all keys';
  return 'correct that place in the config; until then the services keep the last good config, and a first start fails';
}

function openRoutes(config: Config): Finding[] {
  const isOpen = (secret: string | string[] | undefined) => [secret].flat().includes(INSECURE_NO_AUTH);
  return Object.entries(config.routes)
    .filter(([, { secret }]) => isOpen(secret ?? config.secret))
    .map(([name]) =>
      warning(
        'config.auth',
        `route ${name} accepts webhooks from anybody who can reach the port (${INSECURE_NO_AUTH})`,
        `set routes.${name}.secret before other machines can reach the port`,
      ),
    );
}

function openCommands(config: Config): Finding[] {
  const agents = agentsThatRunCommands(config);
  if (agents.length === 0 || config.process_watcher.run_as !== 'same') return [];
  return [
    warning(
      'config.commands',
      `commands of ${agents.join(', ')} run without isolation (process_watcher.run_as: same): they can read the services' secrets and the whole database`,
      'remove run_as; process-watcher then isolates commands, or says at its start what it needs for that',
    ),
  ];
}

function publicUrlFindings(config: Config, env: NodeJS.ProcessEnv): Finding[] {
  const address = { host: env.ANGELIA_HOST || '127.0.0.1', port: Number(env.ANGELIA_PORT || 8644) };
  const found = publicUrlWarning(config, address);
  return found === null
    ? []
    : [
        warning(
          'config.public_url',
          found,
          'set public_url in the config to the URL where people and agents reach ingress',
        ),
      ];
}

const OTHERS_MAY_READ = 0o044;

/** Other users must not read a file with literal secrets. Names of variables are not secrets. */
function readableByOthers(path: string): Finding[] {
  const { mode } = statSync(path);
  if ((mode & OTHERS_MAY_READ) === 0) return [];
  const written: unknown = parse(readFileSync(path, 'utf8'));
  const literal = secretValuesIn(written).filter(
    (value) => !value.includes('${') && value !== '' && value !== INSECURE_NO_AUTH,
  );
  if (literal.length === 0) return [];
  return [
    warning(
      'config.mode',
      `${path} holds ${literal.length} secret${literal.length === 1 ? '' : 's'} and other users can read it (mode ${(mode & 0o777).toString(8)})`,
      `run \`chmod 600 ${path}\`, or write \${NAME} in the file and put the secret into the environment`,
    ),
  ];
}

/** Variables that the services read themselves (INTERFACES.md, "Environment"). */
export function environmentFindings(env: NodeJS.ProcessEnv): Finding[] {
  let lines: readonly string[] = [];
  try {
    checkEnvironment(env);
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    lines = error.lines;
  }
  const ofKey = lines.filter((line) => line.startsWith('ANGELIA_MASTER_KEY'));
  const others = lines.filter((line) => !ofKey.includes(line));
  return [
    ...others.map((line) =>
      fault('environment', line, 'correct the variable; the services refuse to start with it'),
    ),
    ...(others.length === 0 ? [ok('environment', 'the variables of the services are well formed')] : []),
    ...masterKeyFindings(ofKey, env),
  ];
}

function masterKeyFindings(problems: readonly string[], env: NodeJS.ProcessEnv): Finding[] {
  const make =
    'create one with `openssl rand -base64 32` and keep it safe: without it nobody can decrypt what it encrypted';
  if (problems.length > 0) return problems.map((line) => fault('master-key', line, make));
  if (env.ANGELIA_MASTER_KEY) return [ok('master-key', 'ANGELIA_MASTER_KEY has 32 bytes')];
  return [
    warning(
      'master-key',
      'ANGELIA_MASTER_KEY is not set: routes by API, answer links and callbacks of agents do not work',
      make,
    ),
  ];
}

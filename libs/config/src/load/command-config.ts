import { parseConfigDocument } from './config-document.ts';
import { type ConfigFile, configPath, readText } from './config-file.ts';
import { readEnvFile, withDefaults } from './env-file.ts';
import { keptText } from './kept-config.ts';
import { variablesIn } from './variables.ts';

/**
 * The sections that process-watcher and `prune` need. The others hold model keys, credentials and secrets of routes.
 * `retention` and `directories` are for `prune`, which would use the default retention without them.
 */
const SECTIONS = ['agents', 'process_watcher', 'directories', 'timing', 'nats', 'retention'] as const;

export function commandConfigOf(written: unknown): unknown {
  if (!isRecord(written)) return written;
  const parts = Object.fromEntries(
    SECTIONS.flatMap((key) => (written[key] === undefined ? [] : [[key, written[key]]])),
  );
  if (!isRecord(parts.agents)) return parts;
  // The runner calls agents of kind http, with a secret.
  const agents = Object.entries(parts.agents).filter(
    ([, agent]) => !isRecord(agent) || agent.kind !== 'http',
  );
  return { ...parts, agents: Object.fromEntries(agents) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Variables that process-watcher, Node or OpenTelemetry reads. */
const OWN =
  /^(ANGELIA_|OTEL_|NODE_|LC_|PG|SSL_CERT_)|^(PATH|HOME|LANG|TZ|TMPDIR|HOSTNAME|DATABASE_URL|NATS_URL)$/;
/** Secrets that only other services need. */
const NOT_OURS = new Set(['ANGELIA_ADMIN_TOKEN', 'ANGELIA_MASTER_KEY', 'ANGELIA_DEMO_SECRET']);

/**
 * Says which variables process-watcher may hold: its own, and those that its part of the config names, in the file or in
 * the last good copy (it may have to use either). This file does not import load.ts and its schemas: process-watcher calls
 * this and then executes itself again (restart-without-secrets.ts), so everything loaded here is loaded twice.
 */
export function commandVariables(
  env: NodeJS.ProcessEnv,
  file: ConfigFile = configPath(env),
): (name: string) => boolean {
  const texts = [
    () => readText(file.path),
    () => keptText('process-watcher', file, withDefaults(env, readEnvFile(file))),
  ];
  const named = new Set(texts.flatMap((read) => [...variablesOf(read)]));
  return (name) => named.has(name) || (OWN.test(name) && !NOT_OURS.has(name));
}

/** A file that cannot be read names no variables. The service reports the problem when it loads the config. */
function variablesOf(read: () => string | null): ReadonlySet<string> {
  try {
    return variablesIn(commandConfigOf(parseConfigDocument(read() ?? '{}', '').written));
  } catch {
    return new Set();
  }
}

/** The environment of process-watcher: with the variables of `.env`, but without the secrets of others. */
export function withCommandEnvFile(
  env: NodeJS.ProcessEnv,
  file: ConfigFile = configPath(env),
): NodeJS.ProcessEnv {
  const mayHold = commandVariables(env, file);
  const found = Object.entries(readEnvFile(file)).filter(([name]) => mayHold(name));
  return withDefaults(env, Object.fromEntries(found));
}

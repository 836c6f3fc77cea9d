import { configPath, parseYaml, readText } from './config-file.ts';
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

/**
 * The variables that these sections name. This file does not import load.ts and its schemas: process-watcher calls this
 * and then executes itself again (restart-without-secrets.ts), so everything loaded here is loaded twice.
 * @throws StartupError if the config cannot be read
 */
export function commandVariables(env: NodeJS.ProcessEnv): ReadonlySet<string> {
  const { path } = configPath(env);
  return variablesIn(commandConfigOf(parseYaml(readText(path), path)));
}

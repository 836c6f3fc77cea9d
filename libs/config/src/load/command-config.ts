import { configPath, parseYaml, readText } from './config-file.ts';
import { referencesIn } from './variables.ts';

/**
 * What process-watcher needs of the config; the rest holds model keys, credentials and secrets of routes. It usually
 * leads the duties of all (duties.ts): what those read is in here, too, or it would prune by the default retention.
 */
const COMMAND_PARTS = ['agents', 'process_watcher', 'directories', 'timing', 'nats', 'retention'] as const;

export function commandConfigOf(written: unknown): unknown {
  if (!isRecord(written)) return written;
  const parts = Object.fromEntries(
    COMMAND_PARTS.flatMap((key) => (written[key] === undefined ? [] : [[key, written[key]]])),
  );
  if (!isRecord(parts.agents)) return parts;
  // Agents of kind http are called by the runner, with a secret.
  const agents = Object.entries(parts.agents).filter(
    ([, agent]) => !isRecord(agent) || agent.kind !== 'http',
  );
  return { ...parts, agents: Object.fromEntries(agents) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The variables that these parts name. Apart from load.ts, and without the schemas: process-watcher reads them before it
 * becomes itself again (bare-environment.ts), and what is loaded for that is loaded twice.
 * @throws StartupError when there is no config that can be read
 */
export function commandVariables(env: NodeJS.ProcessEnv): ReadonlySet<string> {
  const { path } = configPath(env);
  return referencesIn(commandConfigOf(parseYaml(readText(path), path)));
}

import { checkApiRoute, StartupError } from '@angelia/config';
import {
  type Config,
  type RecordedEvent,
  routeEventSchemas,
  routeStreamId,
  SCHEMA_VERSION,
  type Sealed,
} from '@angelia/contracts';
import { compileRoutes, INSECURE_NO_AUTH, type Route } from '../webhooks/compile-route.ts';
import { type MasterKey, NO_MASTER_KEY, type Opened } from './master-key.ts';

/** A route made by API, as its stream says. */
export interface MadeRoute {
  readonly name: string;
  /** Of its stream: what the API calls its revision. */
  readonly version: number;
  readonly updatedAt: number;
  readonly definition: Readonly<Record<string, unknown>>;
  /** null: INSECURE_NO_AUTH. */
  readonly sealed: Sealed | null;
}

/** What a definition comes to under this config and this master key: another start may see it differently. */
export type Standing =
  | { readonly usable: true; readonly route: Route; readonly effective: Readonly<Record<string, unknown>> }
  | { readonly usable: false; readonly problem: string };

export interface LiveRoute extends MadeRoute {
  readonly standing: Standing;
}

/** The last event of a route's stream says all: null when it was deleted. */
export function lastOf(events: readonly RecordedEvent[]): RecordedEvent | null {
  const last = events.at(-1);
  return last === undefined || last.type === 'route.deleted' ? null : last;
}

export interface Surroundings {
  readonly config: Config;
  readonly listenHost: string;
  readonly masterKey: MasterKey | null;
}

export function nameOf(event: RecordedEvent): string {
  return event.streamId.slice(routeStreamId('').length);
}

/** Never throws: one route that cannot be used must not take the others along. */
export function liveRoute(event: RecordedEvent, surroundings: Surroundings): LiveRoute {
  const at = { name: nameOf(event), version: event.version, updatedAt: event.recordedAt };
  const parsed = routeEventSchemas['route.defined'].safeParse(event.data);
  if (!parsed.success || event.schemaVersion > SCHEMA_VERSION) {
    const problem = 'it was written by another version of Angelia: upgrade this one, or PUT the route again';
    return { ...at, definition: {}, sealed: null, standing: { usable: false, problem } };
  }
  const made = { ...at, definition: parsed.data.definition, sealed: parsed.data.secret };
  try {
    return { ...made, standing: standingOf(made, surroundings) };
  } catch (error) {
    const problem = `it cannot be understood (${error instanceof Error ? error.message : String(error)})`;
    return { ...made, standing: { usable: false, problem } };
  }
}

/** The secrets that a sender may use; a problem when they cannot be read. */
export function secretsOf(made: MadeRoute, masterKey: MasterKey | null): Opened {
  if (made.sealed === null) return { ok: true, secrets: [INSECURE_NO_AUTH] };
  if (masterKey === null) return { ok: false, problem: NO_MASTER_KEY };
  return masterKey.open(made.name, made.sealed);
}

function standingOf(made: MadeRoute, surroundings: Surroundings): Standing {
  const opened = secretsOf(made, surroundings.masterKey);
  if (!opened.ok) return { usable: false, problem: opened.problem };
  return compileMade(made.name, made.definition, opened.secrets, surroundings);
}

/** By the same checks and into the same form as a route of the config file. */
export function compileMade(
  name: string,
  definition: Readonly<Record<string, unknown>>,
  secrets: readonly string[],
  { config, listenHost }: Surroundings,
): Standing {
  const secret = secrets.length === 1 ? secrets[0] : secrets;
  const checked = checkApiRoute(config, name, { ...definition, secret }, listenHost);
  if (!checked.ok) {
    const problems = checked.problems.map(({ place, reason }) => `\`${place}\`: ${reason}`);
    return { usable: false, problem: problems.join('; ') };
  }
  try {
    const route = compileRoutes(checked.config, { untrustedAddresses: true }).get(name);
    if (route === undefined) throw new Error(`route ${name} was not compiled`);
    const { secret: _secret, ...effective } = checked.route;
    return { usable: true, route, effective };
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    const lines = error.lines.map((line) => line.replace(`routes.${name}.`, ''));
    return { usable: false, problem: lines.join('; ') };
  }
}

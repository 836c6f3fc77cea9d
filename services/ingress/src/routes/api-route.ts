import { checkApiRoute, StartupError } from '@angelia/config';
import {
  type Config,
  type ConfigProblem,
  inOneLine,
  type RecordedEvent,
  routeEventSchemas,
  routeStreamId,
  SCHEMA_VERSION,
  type Sealed,
} from '@angelia/contracts';
import { compileRoutes, INSECURE_NO_AUTH } from '../webhooks/compile-route.ts';
import type { Route } from '../webhooks/route.ts';
import { type MasterKey, NO_MASTER_KEY, type Opened } from './master-key.ts';

/** A route made by API, as stored in its stream. */
interface StoredApiRoute {
  readonly name: string;
  /** Of its stream. The API calls it the revision. */
  readonly version: number;
  readonly updatedAt: number;
  readonly definition: Readonly<Record<string, unknown>>;
  /** null: INSECURE_NO_AUTH. */
  readonly sealed: Sealed | null;
}

/** The result of a definition under this config and this master key. Another start may get another result. */
type CompiledApiRoute =
  | { readonly usable: true; readonly route: Route; readonly effective: Readonly<Record<string, unknown>> }
  | { readonly usable: false; readonly problem: string };

type TriedApiRoute =
  | Extract<CompiledApiRoute, { readonly usable: true }>
  | { readonly usable: false; readonly problems: readonly ConfigProblem[] };

export interface ApiRoute extends StoredApiRoute {
  readonly compiled: CompiledApiRoute;
}

/** The last event of a stream holds the whole definition; null if the route was deleted. */
export function definitionIn(events: readonly RecordedEvent[]): RecordedEvent | null {
  const last = events.at(-1);
  return last === undefined || last.type === 'route.deleted' ? null : last;
}

export interface RouteContext {
  readonly config: Config;
  readonly listenHost: string;
  readonly masterKey: MasterKey | null;
}

export function nameOf(event: RecordedEvent): string {
  return event.streamId.slice(routeStreamId('').length);
}

/** Never throws: one unusable route must not affect the others. */
export function apiRouteFrom(event: RecordedEvent, context: RouteContext): ApiRoute {
  const at = { name: nameOf(event), version: event.version, updatedAt: event.recordedAt };
  const parsed = routeEventSchemas['route.defined'].safeParse(event.data);
  if (!parsed.success || event.schemaVersion > SCHEMA_VERSION) {
    const problem = 'another version of Angelia wrote it: upgrade this one, or PUT the route again';
    return { ...at, definition: {}, sealed: null, compiled: { usable: false, problem } };
  }
  const stored = { ...at, definition: parsed.data.definition, sealed: parsed.data.secret };
  return { ...stored, compiled: compiledOf(stored, context) };
}

/** The same route under another config. */
export function recompiled(route: ApiRoute, context: RouteContext): ApiRoute {
  const isUnreadable = !route.compiled.usable && Object.keys(route.definition).length === 0;
  return isUnreadable ? route : { ...route, compiled: compiledOf(route, context) };
}

/** The secrets that a sender may use, or the problem if they cannot be read. */
export function secretsOf(stored: StoredApiRoute, masterKey: MasterKey | null): Opened {
  if (stored.sealed === null) return { ok: true, secrets: [INSECURE_NO_AUTH] };
  if (masterKey === null) return { ok: false, problem: NO_MASTER_KEY };
  return masterKey.open(stored.name, stored.sealed);
}

function compiledOf(stored: StoredApiRoute, context: RouteContext): CompiledApiRoute {
  try {
    const opened = secretsOf(stored, context.masterKey);
    if (!opened.ok) return { usable: false, problem: opened.problem };
    return compileApiRoute(stored.name, stored.definition, opened.secrets, context);
  } catch (error) {
    const problem = `it cannot be read (${error instanceof Error ? error.message : String(error)})`;
    return { usable: false, problem };
  }
}

/** With the same checks and the same result as a route of the config file. */
export function compileApiRoute(
  name: string,
  definition: Readonly<Record<string, unknown>>,
  secrets: readonly string[],
  context: RouteContext,
): CompiledApiRoute {
  const compiled = tryApiRoute(name, definition, secrets, context);
  if (compiled.usable) return compiled;
  const lines = compiled.problems.map(({ place, reason }) =>
    place === '' ? reason : `\`${place}\`: ${reason}`,
  );
  return { usable: false, problem: inOneLine(lines) };
}

/** The same, with each problem and its place. */
export function tryApiRoute(
  name: string,
  definition: Readonly<Record<string, unknown>>,
  secrets: readonly string[],
  { config, listenHost }: RouteContext,
): TriedApiRoute {
  const secret = secrets.length === 1 ? secrets[0] : secrets;
  const checked = checkApiRoute(config, name, { ...definition, secret }, listenHost);
  if (!checked.ok) return { usable: false, problems: checked.problems };
  try {
    const route = compileRoutes(checked.config, { untrustedAddresses: true }).get(name);
    if (route === undefined) throw new Error(`route ${name} was not compiled`);
    const { secret: _secret, ...effective } = checked.route;
    return { usable: true, route, effective };
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    const problems = error.lines.map((line) => ({ place: '', reason: line.replace(`routes.${name}.`, '') }));
    return { usable: false, problems };
  }
}

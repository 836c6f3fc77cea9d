import { type Auth, type ConfigProblem, parseAuth } from '@angelia/contracts';
import { ConfigRefused } from '../startup-error.ts';
import { parseConfigDocument } from './config-document.ts';
import { configPath, readText, shownPath } from './config-file.ts';
import { fillVariables } from './variables.ts';

/** What a sender of test webhooks needs to know about a route. */
export interface RouteFromFile {
  /** The config file. */
  readonly path: string;
  readonly demo: boolean;
  /** Null: the file has no such route. */
  readonly route: {
    /** The newest one. Null: the route has none, and the file has no `secret` for all routes. */
    readonly secret: string | null;
    readonly auth: Auth | string | null;
    readonly events: readonly string[];
    /** As it stands in the file. */
    readonly written: Readonly<Record<string, unknown>>;
  } | null;
}

/**
 * One route of the config file, as it is written there. Nothing else is checked: a sender of test webhooks does not need
 * the variables that the rest of the file names.
 * @throws ConfigRefused
 */
export function routeFromFile(name: string, env: NodeJS.ProcessEnv): RouteFromFile {
  const { path, demo } = configPath(env);
  const document = parseConfigDocument(readText(path), shownPath(path));
  const file = document.written as {
    readonly secret?: unknown;
    readonly routes?: Readonly<Record<string, unknown>>;
  } | null;
  const written = file?.routes?.[name];
  if (typeof written !== 'object' || written === null) return { path, demo, route: null };
  const { secret = file?.secret, auth, events } = written as Readonly<Record<string, unknown>>;
  const missing: ConfigProblem[] = [];
  const [newest] = [fillVariables(secret, env, missing)].flat();
  if (missing.length > 0) {
    const place = `routes.${name}.secret`;
    const problems = missing.map(({ reason }) => document.located({ place, reason }));
    throw new ConfigRefused(document.file, problems);
  }
  return {
    path,
    demo,
    route: {
      secret: typeof newest === 'string' ? newest : null,
      auth: typeof auth === 'string' ? auth : parseAuth(auth),
      events: Array.isArray(events) ? events.filter((each) => typeof each === 'string') : [],
      written: written as Readonly<Record<string, unknown>>,
    },
  };
}

import { parseConfigText, StartupError } from '@angelia/config';
import { stringify } from 'yaml';
import type { Notes } from './notes.ts';
import { isSection, type Section } from './untyped-values.ts';
import type { Variables } from './variables.ts';

/** Each round removes what one refusal names. More rounds than this mean a bug. */
const MOST_ROUNDS = 50;

/**
 * Changes the config until our own loader accepts it. The loader refuses what Hermes would notice only when a webhook
 * arrives, such as a target without an address. A refused route is switched off, any other refused key is removed, and
 * both get a note.
 */
export function removeRefused(
  config: Record<string, unknown>,
  variables: Variables,
  places: ReadonlyMap<string, string>,
  notes: Notes,
): void {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const problem = firstProblem(config, variables);
    if (problem === null) return;
    const [section, name] = problem.place.split('.');
    const route = section === 'routes' && name !== undefined ? routeNamed(config, name) : undefined;
    if (route !== undefined && name !== undefined) {
      closeRoute(route, places.get(name) ?? problem.place, problem, notes);
    } else if (removeAt(config, problem.place.split('.'))) {
      notes.add(problem.place, `is not valid here: ${problem.reason}`, 'it is left out: set it by hand');
    } else {
      break;
    }
  }
  const left = firstProblem(config, variables);
  if (left !== null) throw new Error(`the new config does not load: ${left.place}: ${left.reason}`);
}

interface Problem {
  readonly place: string;
  readonly reason: string;
}

function firstProblem(config: Section, variables: Variables): Problem | null {
  // The loader only needs the variables to be set.
  const env = Object.fromEntries(
    variables.usedIn(config).map(({ name, value }) => [name, value ?? 'unknown']),
  );
  try {
    parseConfigText(stringify(config), env, 'angelia.yaml');
    return null;
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    const [, place = '', reason = ''] =
      /^([^:\s]+): (.*?)(?: \(in angelia\.yaml\))?$/s.exec(error.lines[0] ?? '') ?? [];
    return { place, reason };
  }
}

function routeNamed(config: Section, name: string): Record<string, unknown> | undefined {
  const routes = config.routes;
  const route = isSection(routes) && Object.hasOwn(routes, name) ? routes[name] : undefined;
  return isSection(route) ? (route as Record<string, unknown>) : undefined;
}

function closeRoute(
  route: Record<string, unknown>,
  place: string,
  { place: refused, reason }: Problem,
  notes: Notes,
): void {
  const key = refused.split('.').slice(2).join('.');
  const top = key.split('.')[0] ?? '';
  notes.add(
    `${place}.${key}`,
    `is not valid here: ${reason}; the route is imported but switched off`,
    'correct it, then remove `enabled: false`',
  );
  if (top === 'deliver' || top === 'deliver_extra' || top === 'deliver_only' || top === '') {
    route.deliver = 'log';
    delete route.deliver_extra;
    delete route.deliver_only;
  } else {
    delete route[top];
  }
  route.enabled = false;
}

function removeAt(config: Record<string, unknown>, path: readonly string[]): boolean {
  const key = path.at(-1);
  const holder = path
    .slice(0, -1)
    .reduce<unknown>((value, part) => (isSection(value) ? value[part] : undefined), config);
  if (key === undefined || !isSection(holder) || !Object.hasOwn(holder, key)) return false;
  delete (holder as Record<string, unknown>)[key];
  return true;
}

import type { Config, ConfigProblem, FilterConfig, RouteConfig } from '@angelia/contracts';
import { findScript } from './script-file.ts';
import { readSkill, SkillUnavailable } from './skill-file.ts';
import { openValueFile, ValueFileUnreadable } from './value-file.ts';

/**
 * Files that a route needs and that cannot be used. Checked where routes are defined: by ingress at start, by
 * `check-config`, and for routes made by API. Other services do not need these files.
 */
export function routeFileProblems(
  name: string,
  route: RouteConfig,
  directories: Config['directories'],
): ConfigProblem[] {
  const place = `routes.${name}`;
  const script = route.script === undefined ? null : findScript(directories.scripts, route.script);
  return [
    ...(script !== null && 'reason' in script ? [{ place: `${place}.script`, reason: script.reason }] : []),
    ...route.skills.flatMap((skill, index) =>
      problemOf(`${place}.skills.${index}`, () => readSkill(directories.skills, skill)),
    ),
    ...route.filters.flatMap((filter, index) => valueFileProblems(`${place}.filters.${index}`, filter)),
  ];
}

function valueFileProblems(place: string, filter: FilterConfig): ConfigProblem[] {
  const { in_file: path, all, any, not } = filter;
  return [
    ...(path === undefined ? [] : problemOf(`${place}.in_file`, () => openValueFile(path))),
    ...(all ?? []).flatMap((inner, index) => valueFileProblems(`${place}.all.${index}`, inner)),
    ...(any ?? []).flatMap((inner, index) => valueFileProblems(`${place}.any.${index}`, inner)),
    ...(not === undefined ? [] : valueFileProblems(`${place}.not`, not)),
  ];
}

function problemOf(place: string, open: () => unknown): ConfigProblem[] {
  try {
    open();
    return [];
  } catch (error) {
    if (!(error instanceof ValueFileUnreadable) && !(error instanceof SkillUnavailable)) throw error;
    return [{ place, reason: error.message }];
  }
}

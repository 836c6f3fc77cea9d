import type { Imported } from './import.ts';

/** Lines of plain text for the user. They contain no secret. */
export function renderImport({ routes, environment, notes }: Imported): string[] {
  const list = (names: readonly string[]) => names.join(', ') || 'none';
  const named = (enabled: boolean) =>
    routes.filter((route) => route.enabled === enabled).map(({ name }) => name);
  const unknown = environment.filter(({ value }) => value === null).map(({ name }) => name);
  return [
    `routes: ${list(named(true))}`,
    ...(named(false).length === 0
      ? []
      : [`routes that are switched off until you have checked them: ${list(named(false))}`]),
    `variables: ${list(environment.map(({ name }) => name))}`,
    ...(unknown.length === 0 ? [] : [`variables that Hermes has no value for: ${list(unknown)}`]),
    '',
    ...notes.flatMap(({ place, what, todo }) => [`${place}: ${what}`, `  -> ${todo}`]),
  ];
}

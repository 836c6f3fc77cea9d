import type { Argument, Context, Given } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { isBulk } from './bulk.ts';
import { sessionFilters } from './session-filters.ts';

/** Commands get the whole id (names/whole-ids.ts), and print it whole. */
export const sessionArgument: Argument = {
  name: 'session',
  names: 'session',
  summary: 'the id of the session, or enough of its beginning',
};

/** For a command that also works on everything that filters find. */
export const sessionOrFilters: Argument = { ...sessionArgument, optional: true };

/** @throws CliError 2 unless the user gave either */
export function oneOrFiltered(context: Context, command: string): 'one' | 'filtered' {
  const ids = context.given.argumentsFrom('session');
  if (isBulk(context, ids, Object.keys(sessionFilters))) return 'filtered';
  if (ids.length > 0) return 'one';
  throw new CliError(EXIT.usage, '<session> is missing: give an id, or filters', `angelia help ${command}`);
}

export function sessionPath(given: Given): string {
  return `/v1/sessions/${encodeURIComponent(given.argument('session') ?? '')}`;
}

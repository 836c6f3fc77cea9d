import type { Argument, Given } from '../command-line/command.ts';

/** Ids are whole everywhere: a shortened one might fit several sessions. */
export const sessionArgument: Argument = { name: 'session', summary: 'the full id of the session' };

export function sessionPath(given: Given): string {
  return `/v1/sessions/${encodeURIComponent(given.argument('session') ?? '')}`;
}

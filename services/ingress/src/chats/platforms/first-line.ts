/**
 * Commands on platforms that know no commands: the first line of what the person wrote, such as `/deny too expensive`. Quoted
 * lines (`> ...`) are somebody else's words and are passed over.
 */

/** The commands of take/commands. Other bots have commands too: `/lgtm` is not for us. */
export const COMMAND_NAMES = [
  'status',
  'stop',
  'resume',
  'new',
  'sessions',
  'retry',
  'approve',
  'deny',
  'help',
] as const;

/** Besides these commands: `/pair` and a code. */
const PAIR = 'pair';

const COMMAND = /^\/([a-z]{1,32})(?:[ \t]+(.*))?$/i;

export function commandIn(text: string): { readonly name: string; readonly rest: string } | null {
  const line = text.split('\n').find((one) => one.trim() !== '' && !isQuoted(one));
  const [, name, rest = ''] = COMMAND.exec(line?.trim() ?? '') ?? [];
  const known = [...COMMAND_NAMES, PAIR].find((one) => one === name?.toLowerCase());
  return known === undefined ? null : { name: known, rest: rest.trim() };
}

export function isQuoted(line: string): boolean {
  return /^ {0,3}>/.test(line);
}

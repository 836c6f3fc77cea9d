import type { Api } from '../api/client.ts';
import type { Command, Given } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { type Named, namesWith } from './named.ts';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
/** A whole id is used as it is: the lists are a moment behind, and must not be needed to cancel a session. */
const WHOLE: Readonly<Record<Exclude<Named, 'route'>, RegExp>> = {
  session: new RegExp(`^${UUID}$`),
  delivery: new RegExp(`^${UUID}\\.[0-9]+$`),
  process: /^$/, // their length is no promise of the API
  job: new RegExp(`^${UUID}$`),
};
/** Anything else cannot be the beginning of an id. */
const BEGINNING: Readonly<Record<Exclude<Named, 'route'>, RegExp>> = {
  session: /^[0-9a-f-]{1,36}$/,
  delivery: /^[0-9a-f-]{1,36}(\.[0-9]*)?$/,
  process: /^[a-z0-9_]{1,64}$/,
  job: /^[0-9a-f-]{1,36}$/,
};
const LISTED: Readonly<Record<Exclude<Named, 'route'>, string>> = {
  session: 'sessions',
  delivery: 'deliveries',
  process: 'processes',
  job: 'jobs',
};
/** The error shows this many. */
const MOST_SHOWN = 5;

/**
 * The same values, with every id whole. A command sees whole ids only, whatever the user typed.
 * @throws CliError 2 if several ids begin so, 3 if none does
 */
export async function withWholeIds(
  given: Given,
  { arguments: args = [], options = {} }: Command,
  api: () => Api,
): Promise<Given> {
  const whole = new Map<string, string>();
  const resolve = async (name: string, kind: Named | undefined, typed: readonly string[]): Promise<void> => {
    if (kind === undefined || kind === 'route') return;
    for (const value of typed)
      whole.set(
        `${name} ${value}`,
        await wholeId(kind, value, (prefix, limit) => namesWith(api(), kind, prefix, limit)),
      );
  };
  for (const { name, names } of args) await resolve(`<${name}>`, names, given.argumentsFrom(name));
  for (const [name, { names }] of Object.entries(options)) await resolve(name, names, given.texts(name));
  const ofArgument = (name: string, value: string): string => whole.get(`<${name}> ${value}`) ?? value;
  const ofOption = (name: string, value: string): string => whole.get(`${name} ${value}`) ?? value;
  return {
    ...given,
    argument: (name) => {
      const value = given.argument(name);
      return value === null ? null : ofArgument(name, value);
    },
    argumentsFrom: (name) => given.argumentsFrom(name).map((value) => ofArgument(name, value)),
    text: (name) => {
      const value = given.text(name);
      return value === null ? null : ofOption(name, value);
    },
    texts: (name) => given.texts(name).map((value) => ofOption(name, value)),
  };
}

/** `find` returns the first ids that begin so. */
export async function wholeId(
  kind: Exclude<Named, 'route'>,
  typed: string,
  find: (prefix: string, limit: number) => Promise<string[]>,
): Promise<string> {
  const prefix = typed.toLowerCase();
  if (WHOLE[kind].test(prefix)) return prefix;
  if (!BEGINNING[kind].test(prefix))
    throw new CliError(
      EXIT.usage,
      `"${typed}" is not the beginning of the id of a ${kind}`,
      `angelia ${LISTED[kind]} shows the ids`,
    );
  const found = await find(prefix, MOST_SHOWN + 1);
  // `.7` names an output, although `.71` begins so too.
  const output = prefix.split('.')[1];
  const exact = found.filter((id) => (output === undefined ? id === prefix : id.endsWith(`.${output}`)));
  const [only, ...others] = exact.length > 0 ? exact : found;
  if (only !== undefined && others.length === 0) return only;
  if (found.length === 0)
    throw new CliError(EXIT.notFound, `there is no ${kind} whose id begins with "${typed}"`);
  const shown = found.slice(0, MOST_SHOWN).join(', ');
  throw new CliError(
    EXIT.usage,
    `"${typed}" is the beginning of several ids: ${shown}${found.length > MOST_SHOWN ? ' and more' : ''}`,
    'give more of the id',
  );
}

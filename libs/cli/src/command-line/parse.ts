import { parseArgs } from 'node:util';
import { suggest } from '@angelia/contracts/suggest';
import { CliError, EXIT } from '../exit.ts';
import type { Argument, Command, Given, Option } from './command.ts';
import { globalOptions, refusedOptions } from './global-options.ts';

export type Parsed =
  /** `angelia`, `angelia help routes`, `angelia routes add --help` */
  | { readonly kind: 'help'; readonly topic: string | null; readonly asked: boolean }
  | { readonly kind: 'version' }
  | { readonly kind: 'run'; readonly command: Command; readonly given: Given };

/** @throws CliError 2 that says what is wrong, with a suggestion where one is close */
export function parse(argv: readonly string[], commands: readonly Command[]): Parsed {
  const { words, rest } = commandWords(argv, commands);
  if (words.length === 0) {
    const { switches } = readOptions(rest, globalOptions, null);
    if (switches.has('version')) return { kind: 'version' };
    return { kind: 'help', topic: null, asked: switches.has('help') };
  }
  const name = words.join(' ');
  if (words[0] === 'help') {
    const { positionals } = readOptions(rest, globalOptions, 'help');
    return { kind: 'help', topic: topicOf(positionals, commands), asked: true };
  }
  const command = commands.find((each) => each.name === name) ?? defaultOf(name, commands);
  const group = subcommandsOf(name, commands);
  if (command === undefined && group.length === 0) throw unknownCommand(name, commands);
  const options = { ...globalOptions, ...command?.options };
  const read = readOptions(rest, options, name);
  if (read.switches.has('help')) {
    return { kind: 'help', topic: group.length > 0 ? name : (command?.name ?? name), asked: true };
  }
  // The word after the group is none of its commands, and the default command takes no argument.
  if (group.length > 0 && (command?.arguments ?? []).length === 0 && read.positionals[0] !== undefined) {
    throw unknownWord(name, read.positionals[0], group);
  }
  if (command === undefined) {
    throw new CliError(
      EXIT.usage,
      `\`angelia ${name}\` needs one of these commands: ${group.map((each) => lastWord(each.name)).join(', ')}`,
      `angelia help ${name}`,
    );
  }
  return { kind: 'run', command, given: givenOf(command, options, read) };
}

/** The first word, and the second if both together name a command. Global options may come before them. */
function commandWords(
  argv: readonly string[],
  commands: readonly Command[],
): { words: string[]; rest: string[] } {
  let at = 0;
  while (at < argv.length && (argv[at] ?? '').startsWith('-')) {
    const word = argv[at] ?? '';
    const raw = word.split('=', 1)[0] ?? '';
    const [name, option] =
      Object.entries(globalOptions).find(
        ([each, { short, value }]) =>
          raw === `--${each}` || (value === undefined ? raw === `-${short}` : raw.startsWith(`-${short}`)),
      ) ?? [];
    if (name === undefined || option === undefined) throw misplacedOption(raw, commands);
    // `-o json`, `--output=json` and `-ojson`
    const hasValue = word.includes('=') || (word !== `-${option.short}` && word !== `--${name}`);
    at += option.value === undefined || hasValue ? 1 : 2;
  }
  const first = argv[at];
  if (first === undefined) return { words: [], rest: [...argv] };
  const second = argv[at + 1];
  const both = commands.some((each) => each.name === `${first} ${second}`);
  const words = both && second !== undefined ? [first, second] : [first];
  return { words, rest: [...argv.slice(0, at), ...argv.slice(at + words.length)] };
}

interface Read {
  readonly positionals: readonly string[];
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly switches: ReadonlySet<string>;
}

function readOptions(
  args: readonly string[],
  options: Readonly<Record<string, Option>>,
  command: string | null,
): Read {
  const { tokens, positionals } = parseArgs({
    args: [...args],
    // Not strict, because its messages are about Node's API. The checks below replace it.
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value, short }]) => [
        name,
        {
          type: value === undefined ? ('boolean' as const) : ('string' as const),
          ...(short === undefined ? {} : { short }),
        },
      ]),
    ),
  });
  const values = new Map<string, string[]>();
  const switches = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (option === undefined) throw unknownOption(token.rawName, token.name, options, command);
    if (option.value === undefined) {
      if (token.value !== undefined) throw usage(`${token.rawName} takes no value`, command);
      switches.add(token.name);
      continue;
    }
    const { value } = token;
    if (value === undefined || (!token.inlineValue && value.startsWith('-') && value !== '-')) {
      throw usage(`${token.rawName} needs a value: ${token.rawName} <${option.value}>`, command);
    }
    if (option.values !== undefined && !option.values.includes(value)) {
      const near = suggest(value, option.values);
      throw usage(
        `${token.rawName} must be one of ${option.values.join(', ')}, not "${value}"${near === null ? '' : `: did you mean ${near}?`}`,
        command,
      );
    }
    // Checked before anything is sent: `send --wait --timeout soon` must not fail after it has posted the webhook.
    if (option.value === 'time') durationMs(token.name, value, command);
    const before = values.get(token.name) ?? [];
    if (before.length > 0 && option.many !== true) throw usage(`${token.rawName} is given twice`, command);
    values.set(token.name, [...before, value]);
  }
  return { positionals, values, switches };
}

function givenOf(command: Command, options: Readonly<Record<string, Option>>, read: Read): Given {
  const declared = command.arguments ?? [];
  const byArgument = matchArguments(command.name, declared, read.positionals);
  const known = (option: string): void => {
    if (!Object.hasOwn(options, option)) throw new Error(`${command.name} declares no option ${option}`);
  };
  const text = (option: string): string | null => {
    known(option);
    return read.values.get(option)?.[0] ?? null;
  };
  return {
    argument: (name) => byArgument.get(name)?.[0] ?? null,
    argumentsFrom: (name) => byArgument.get(name) ?? [],
    text,
    texts: (option) => {
      known(option);
      return read.values.get(option) ?? [];
    },
    switch: (option) => {
      known(option);
      return read.switches.has(option);
    },
    number: (option, { from, to }) => {
      const given = text(option);
      if (given === null) return null;
      const value = Number(given);
      if (/^[0-9]{1,15}$/.test(given) && value >= from && value <= to) return value;
      throw usage(`--${option} must be a whole number from ${from} to ${to}, not "${given}"`, command.name);
    },
    duration: (option) => {
      const given = text(option);
      return given === null ? null : durationMs(option, given, command.name);
    },
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

function durationMs(option: string, given: string, command: string | null): number {
  const [, amount, unit = 's'] = /^([0-9]{1,6})(s|m|h)?$/.exec(given) ?? [];
  if (amount === undefined) {
    throw usage(`--${option} must be a time such as 90s, 5m or 2h, not "${given}"`, command);
  }
  return Number(amount) * (UNIT_MS[unit] ?? 1_000);
}

function matchArguments(
  command: string,
  declared: readonly Argument[],
  positionals: readonly string[],
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let at = 0;
  for (const { name, optional, many, values } of declared) {
    const taken = many === true ? positionals.slice(at) : positionals.slice(at, at + 1);
    at += taken.length;
    if (taken.length === 0 && optional !== true) throw usage(`<${name}> is missing`, command);
    for (const value of taken) {
      if (value === '') throw usage(`<${name}> is empty`, command);
      if (values !== undefined && !values.includes(value)) {
        throw usage(`<${name}> must be one of ${values.join(', ')}, not "${value}"`, command);
      }
    }
    found.set(name, taken);
  }
  if (at < positionals.length) {
    throw usage(
      `one argument too many: "${positionals[at]}" (put quotes around a text with spaces)`,
      command,
    );
  }
  return found;
}

function usage(message: string, command: string | null): CliError {
  return new CliError(EXIT.usage, message, command === null ? 'angelia help' : `angelia help ${command}`);
}

function unknownOption(
  raw: string,
  name: string,
  options: Readonly<Record<string, Option>>,
  command: string | null,
): CliError {
  const refused = Object.hasOwn(refusedOptions, name) ? refusedOptions[name] : undefined;
  if (refused !== undefined) return usage(`${raw}: ${refused}`, command);
  const near = suggest(name, Object.keys(options));
  return usage(`there is no option ${raw}${near === null ? '' : `: did you mean --${near}?`}`, command);
}

/** An unknown option before the command: it belongs to some command, or to none. */
function misplacedOption(raw: string, commands: readonly Command[]): CliError {
  const name = raw.replace(/^-+/, '');
  const known = commands.some(({ options = {} }) => Object.hasOwn(options, name));
  return known
    ? usage(`${raw} is an option of a command: put it after the name of the command`, null)
    : unknownOption(raw, name, globalOptions, null);
}

function topicOf(words: readonly string[], commands: readonly Command[]): string | null {
  if (words.length === 0) return null;
  const name = words.join(' ');
  const exists = commands.some((each) => each.name === name) || subcommandsOf(name, commands).length > 0;
  if (exists || name === 'help') return name;
  throw unknownCommand(name, commands);
}

function unknownCommand(name: string, commands: readonly Command[]): CliError {
  const known = [...new Set(commands.flatMap((each) => [each.name.split(' ')[0] ?? '', each.name])), 'help'];
  const near = suggest(name, known);
  return new CliError(
    EXIT.usage,
    `there is no command "${name}"${near === null ? '' : `: did you mean \`angelia ${near}\`?`}`,
    'angelia help',
  );
}

function unknownWord(group: string, word: string, members: readonly Command[]): CliError {
  const known = members.map((each) => lastWord(each.name));
  const near = suggest(word, known);
  return new CliError(
    EXIT.usage,
    `\`angelia ${group}\` has no command "${word}"${near === null ? `: it has ${known.join(', ')}` : `: did you mean \`angelia ${group} ${near}\`?`}`,
    `angelia help ${group}`,
  );
}

export function subcommandsOf(group: string, commands: readonly Command[]): readonly Command[] {
  return commands.filter((each) => each.name.startsWith(`${group} `));
}

function defaultOf(group: string, commands: readonly Command[]): Command | undefined {
  return subcommandsOf(group, commands).find((each) => each.isDefault === true);
}

export function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(' ') + 1);
}

import type { Named } from '../names/named.ts';
import { type Member, optionsOfGroup, type Words } from './words.ts';

/** Asks the program that the user is typing. Without a server it offers nothing. */
const NAMES = [
  'function __angelia_names',
  '  set -l words (commandline -opc)',
  '  set -l typed (commandline -ct)',
  '  if test -n "$typed"',
  '    $words[1] completion names $argv[1] $typed 2>/dev/null',
  '  else',
  '    $words[1] completion names $argv[1] 2>/dev/null',
  '  end',
  'end',
];

export function fishCompletion({ first, groups, commands }: Words): string {
  const lines = [
    '# fish completion of angelia: angelia completion fish > ~/.config/fish/completions/angelia.fish',
    ...NAMES,
    'complete -c angelia -f',
    ...first.map(
      ({ word, summary }) =>
        `complete -c angelia -n __fish_use_subcommand -a ${quoted(word)} -d ${quoted(summary)}`,
    ),
    `complete -c angelia -n '__fish_seen_subcommand_from help' -a ${quoted(first.map(({ word }) => word).join(' '))}`,
  ];
  for (const { group, members } of groups) {
    const words = members.map(({ name }) => name.slice(group.length + 1));
    const alone = `__fish_seen_subcommand_from ${group}; and not __fish_seen_subcommand_from ${words.join(' ')}`;
    for (const { name, summary } of members) {
      lines.push(
        `complete -c angelia -n ${quoted(alone)} -a ${quoted(name.slice(group.length + 1))} -d ${quoted(summary)}`,
      );
    }
    lines.push(...optionLines(alone, optionsOfGroup(members)));
  }
  for (const { name, options, arguments: args } of commands) {
    const when = name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ');
    lines.push(...optionLines(when, options));
    if (args[0]?.values !== undefined) {
      lines.push(`complete -c angelia -n ${quoted(when)} -a ${quoted(args[0].values.join(' '))}`);
    }
    if (args[0]?.names !== undefined) {
      lines.push(`complete -c angelia -n ${quoted(when)} -a ${quoted(namesOf(args[0].names))}`);
    }
    if (args.some((each) => each.name === 'file')) lines.push(`complete -c angelia -n ${quoted(when)} -F`);
  }
  return `${lines.join('\n')}\n`;
}

function optionLines(when: string, options: Member['options']): string[] {
  return options.map(({ name, short, value, values, names, file, summary }) => {
    const takes =
      value === undefined
        ? ''
        : values !== undefined
          ? ` -x -a ${quoted(values.join(' '))}`
          : names !== undefined
            ? ` -x -a ${quoted(namesOf(names))}`
            : file === true
              ? ' -r -F'
              : ' -x';
    return `complete -c angelia -n ${quoted(when)} -l ${name}${short === undefined ? '' : ` -s ${short}`}${takes} -d ${quoted(summary)}`;
  });
}

function namesOf(kind: Named): string {
  return `(__angelia_names ${kind})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

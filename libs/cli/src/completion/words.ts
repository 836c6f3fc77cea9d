import type { Argument, Command, Option } from '../command-line/command.ts';
import { globalOptions } from '../command-line/global-options.ts';

/** What a completion script needs of the commands. */
export interface Words {
  /** The first words: commands and groups. */
  readonly first: readonly { readonly word: string; readonly summary: string }[];
  readonly groups: readonly { readonly group: string; readonly members: readonly Member[] }[];
  readonly commands: readonly Member[];
}

export interface Member {
  readonly name: string;
  readonly summary: string;
  readonly arguments: readonly Argument[];
  readonly options: readonly (Option & { readonly name: string })[];
}

export function wordsOf(commands: readonly Command[]): Words {
  const members = commands.map(memberOf);
  const first = new Map<string, string>();
  for (const { name, summary } of members) {
    const [word = ''] = name.split(' ');
    if (!first.has(word)) first.set(word, summary);
  }
  first.set('help', 'show what a command does, with examples');
  const groups = [...first.keys()].flatMap((group) => {
    const inside = members.filter(({ name }) => name.startsWith(`${group} `));
    return inside.length === 0 ? [] : [{ group, members: inside }];
  });
  return { first: [...first].map(([word, summary]) => ({ word, summary })), groups, commands: members };
}

function memberOf({ name, summary, arguments: args = [], options = {} }: Command): Member {
  return {
    name,
    summary,
    arguments: args,
    options: Object.entries({ ...options, ...globalOptions }).map(([option, rest]) => ({
      name: option,
      ...rest,
    })),
  };
}

/** The options of a group without a command: those of its default command. */
export function optionsOfGroup(members: readonly Member[]): Member['options'] {
  return members.find(({ name }) => name.endsWith(' list'))?.options ?? [];
}

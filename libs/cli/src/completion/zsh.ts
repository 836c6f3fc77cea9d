import type { Argument, Option } from '../command-line/command.ts';
import { type Member, optionsOfGroup, type Words } from './words.ts';

export function zshCompletion({ first, groups, commands }: Words): string {
  const members = (group: string, inside: readonly Member[]): string =>
    `    "${group}")
      _arguments -s ${optionSpecs(optionsOfGroup(inside))} '1: :((${described(inside.map(({ name, summary }) => [name.slice(group.length + 1), summary]))}))' ;;`;
  return `#compdef angelia
# zsh completion of angelia: angelia completion zsh > "$fpath[1]/_angelia"
_angelia_names() {
  compadd -- \${(f)"$("$angelia" completion names $1 $PREFIX 2>/dev/null)"}
}
_angelia() {
  local command="$words[2]" angelia="$words[1]"
  local -i taken=1
  if (( CURRENT == 2 )); then
    local -a commands=(
${first.map(({ word, summary }) => `      ${quoted(`${word}:${summary}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  case "$words[2] $words[3]" in
    ${commands
      .filter(({ name }) => name.includes(' '))
      .map(({ name }) => `"${name}"`)
      .join('|')}) (( CURRENT > 3 )) && { command="$words[2] $words[3]"; taken=2 } ;;
  esac
  # _arguments reads the words after the first one.
  words=(angelia "\${(@)words[taken+2,-1]}")
  (( CURRENT -= taken ))
  case "$command" in
${groups.map(({ group, members: inside }) => members(group, inside)).join('\n')}
${commands
  .map(
    ({ name, options, arguments: args }) =>
      `    "${name}")\n      _arguments -s ${optionSpecs(options)} '*: :${argumentAction(args[0])}' ;;`,
  )
  .join('\n')}
    help) _arguments '1: :(${first.map(({ word }) => word).join(' ')})' ;;
  esac
}
if [ "$funcstack[1]" = "_angelia" ]; then _angelia "$@"; else compdef _angelia angelia; fi
`;
}

function optionSpecs(options: Member['options']): string {
  return options
    .map(({ name, value, many, summary, ...action }) => {
      const takes = value === undefined ? '' : `:${escaped(value)}:${optionAction(action)}`;
      return quoted(`${many === true ? '*' : ''}--${name}[${escaped(summary)}]${takes}`);
    })
    .join(' ');
}

function optionAction({ values, names, file }: Pick<Option, 'values' | 'names' | 'file'>): string {
  if (values !== undefined) return `(${values.join(' ')})`;
  if (names !== undefined) return `{_angelia_names ${names}}`;
  return file === true ? '_files' : ' ';
}

function argumentAction(argument: Argument | undefined): string {
  if (argument?.values !== undefined) return `(${argument.values.join(' ')})`;
  return argument?.names === undefined ? '_files' : `{_angelia_names ${argument.names}}`;
}

function described(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([word, summary]) => `${word}\\:"${summary.replace(/["'\\:()]/g, ' ')}"`).join(' ');
}

/** Escapes what has a meaning for _arguments. */
function escaped(text: string): string {
  return text.replace(/[[\]:\\]/g, '\\$&');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

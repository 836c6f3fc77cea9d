import { type Member, optionsOfGroup, type Words } from './words.ts';

export function zshCompletion({ first, groups, commands }: Words): string {
  const members = (group: string, inside: readonly Member[]): string =>
    `    "${group}")
      _arguments -s ${optionSpecs(optionsOfGroup(inside))} '1: :((${described(inside.map(({ name, summary }) => [name.slice(group.length + 1), summary]))}))' ;;`;
  return `#compdef angelia
# zsh completion of angelia: angelia completion zsh > "$fpath[1]/_angelia"
_angelia() {
  local command="$words[2]"
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
      `    "${name}")\n      _arguments -s ${optionSpecs(options)} '*: :${args[0]?.values === undefined ? '_files' : `(${args[0].values.join(' ')})`}' ;;`,
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
    .map(({ name, value, values, file, many, summary }) => {
      const takes =
        value === undefined
          ? ''
          : `:${escaped(value)}:${values === undefined ? (file === true ? '_files' : ' ') : `(${values.join(' ')})`}`;
      return quoted(`${many === true ? '*' : ''}--${name}[${escaped(summary)}]${takes}`);
    })
    .join(' ');
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

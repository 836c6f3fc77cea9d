import { type Member, optionsOfGroup, type Words } from './words.ts';

/** Works with bash 3.2 and later (macOS), without the bash-completion package. */
export function bashCompletion({ first, groups, commands }: Words): string {
  const names = commands.map(({ name }) => name);
  const both = names.filter((name) => name.includes(' '));
  const all: { name: string; options: Member['options']; words: readonly string[] }[] = [
    ...commands.map(({ name, options, arguments: args }) => ({
      name,
      options,
      words: args[0]?.values ?? [],
    })),
    ...groups.map(({ group, members }) => ({
      name: group,
      options: optionsOfGroup(members),
      words: members.map(({ name }) => name.slice(group.length + 1)),
    })),
    { name: 'help', options: [], words: first.map(({ word }) => word) },
  ];
  const values = all.flatMap(({ name, options }) =>
    options
      .filter(({ value }) => value !== undefined)
      .flatMap((option) =>
        spellings(option).map((spelled) => {
          const offer =
            option.values === undefined
              ? option.file === true
                ? 'COMPREPLY=($(compgen -f -- "$cur"))'
                : 'COMPREPLY=()'
              : `COMPREPLY=($(compgen -W "${option.values.join(' ')}" -- "$cur"))`;
          return `    "${name} ${spelled}") ${offer}; return ;;`;
        }),
      ),
  );
  return `# bash completion of angelia: source <(angelia completion bash)
_angelia() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" command="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in -*) continue ;; esac
    if [ -z "$command" ]; then command="$word"; continue; fi
    case "$command $word" in
      ${both.map((name) => `"${name}"`).join('|')}) command="$command $word" ;;
    esac
    break
  done
  case "$command $prev" in
${values.join('\n')}
  esac
  case "$command" in
    "") COMPREPLY=($(compgen -W "${first.map(({ word }) => word).join(' ')} --help --version" -- "$cur")) ;;
${all
  .map(({ name, options, words }) => {
    const offered = [...words, ...options.map((option) => `--${option.name}`)].join(' ');
    return `    "${name}") COMPREPLY=($(compgen -W "${offered}" -- "$cur")) ;;`;
  })
  .join('\n')}
  esac
}
complete -o default -F _angelia angelia
`;
}

function spellings({ name, short }: { readonly name: string; readonly short?: string }): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}

import type { Named } from '../names/named.ts';
import { type Member, optionsOfGroup, type Words } from './words.ts';

/** Works with bash 3.2 and later (macOS), without the bash-completion package. */
export function bashCompletion({ first, groups, commands }: Words): string {
  const names = commands.map(({ name }) => name);
  const both = names.filter((name) => name.includes(' '));
  const all: Completed[] = [
    ...commands.map(({ name, options, arguments: args }) => ({
      name,
      options,
      words: args[0]?.values ?? [],
      names: args[0]?.names,
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
          return `    "${name} ${spelled}") ${offerOf(option)}; return ;;`;
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
  .map(({ name, options, words, names: kind }) => {
    const offered = [...words, ...options.map((option) => `--${option.name}`)].join(' ');
    // Asking the server takes a moment, and no name begins with a dash.
    return kind === undefined
      ? `    "${name}") COMPREPLY=($(compgen -W "${offered}" -- "$cur")) ;;`
      : `    "${name}") case "$cur" in -*) COMPREPLY=($(compgen -W "${offered}" -- "$cur")) ;; *) ${namesOf(kind)} ;; esac ;;`;
  })
  .join('\n')}
  esac
}
complete -o default -F _angelia angelia
`;
}

interface Completed {
  readonly name: string;
  readonly options: Member['options'];
  readonly words: readonly string[];
  readonly names?: Named | undefined;
}

function offerOf({ values, file, names }: Member['options'][number]): string {
  if (values !== undefined) return `COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$cur"))`;
  if (names !== undefined) return namesOf(names);
  return file === true ? 'COMPREPLY=($(compgen -f -- "$cur"))' : 'COMPREPLY=()';
}

/** Without a server it offers nothing. */
function namesOf(kind: Named): string {
  return `COMPREPLY=($("\${COMP_WORDS[0]}" completion names ${kind} \${cur:+"$cur"} 2>/dev/null))`;
}

function spellings({ name, short }: { readonly name: string; readonly short?: string }): string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}

import { type Command, defineCommand } from '../command-line/command.ts';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { wordsOf } from '../completion/words.ts';
import { zshCompletion } from '../completion/zsh.ts';

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
type Shell = keyof typeof shells;

/** The script covers every command, also this one. So it reads the list when it runs. */
export function completionOf(table: () => readonly Command[]): Command {
  return defineCommand({
    name: 'completion',
    summary: 'print the completion script of a shell',
    description:
      'It completes commands, options and their values for a command named `angelia`, which may be an alias.',
    arguments: [{ name: 'shell', values: Object.keys(shells), summary: 'bash, zsh or fish' }],
    examples: [
      { command: 'source <(angelia completion bash)', does: 'bash: for this shell, or in ~/.bashrc' },
      { command: 'angelia completion zsh > "$fpath[1]/_angelia"', does: 'zsh' },
      { command: 'angelia completion fish > ~/.config/fish/completions/angelia.fish', does: 'fish' },
    ],
    run: async ({ given, out }) => {
      const shell = given.argument('shell') as Shell;
      const script = shells[shell](wordsOf(table()));
      out.answer({ shell, script }, () => script.trimEnd());
      return undefined;
    },
  });
}

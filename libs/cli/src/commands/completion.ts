import { type Command, defineCommand } from '../command-line/command.ts';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { wordsOf } from '../completion/words.ts';
import { zshCompletion } from '../completion/zsh.ts';
import { type Named, namesWith } from '../names/named.ts';

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
type Shell = keyof typeof shells;

/** The list of a shell that is longer helps nobody. */
const MOST_OFFERED = 50;

export const completionNames = defineCommand({
  name: 'completion names',
  summary: 'print the ids or names that the completion scripts offer',
  arguments: [
    {
      name: 'kind',
      values: ['session', 'delivery', 'process', 'job', 'route'],
      summary: 'session, delivery, process, job or route',
    },
    { name: 'beginning', optional: true, summary: 'only those that begin with this' },
  ],
  examples: [{ command: 'angelia completion names route', does: 'the names of all routes' }],
  calls: ['get /v1/sessions', 'get /v1/deliveries', 'get /v1/processes', 'get /v1/jobs', 'get /v1/routes'],
  run: async ({ api, given, out }) => {
    const kind = given.argument('kind') as Named;
    const names = await namesWith(api(), kind, given.argument('beginning') ?? '', MOST_OFFERED);
    out.answer({ names }, () => names.join('\n'));
    return undefined;
  },
});

/** The script covers every command, also this one. So it reads the list when it runs. */
export function completionOf(table: () => readonly Command[]): Command {
  return defineCommand({
    name: 'completion',
    summary: 'print the completion script of a shell',
    description:
      'It completes commands, options and their values, and asks the server for ids and names of routes. It works for a ' +
      'command named `angelia`, also as `./angelia` or an alias.',
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

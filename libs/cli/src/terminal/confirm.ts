import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Context, Option } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';

export const yesOption = {
  yes: { short: 'y', summary: 'do not ask for confirmation' },
} as const satisfies Readonly<Record<string, Option>>;

/**
 * For what cannot be undone. On a terminal a person is asked; a script has to say `--yes`, as nobody would answer it.
 * @throws CliError 2 without a terminal, 1 when the answer is no
 */
export async function confirm({ runtime, given }: Context, question: string): Promise<void> {
  if (given.switch('yes')) return;
  if (runtime.stdin.isTTY !== true) {
    throw new CliError(EXIT.usage, `${question}: say --yes if that is meant`);
  }
  // On stderr: stdout is for the answer, which may go into a file.
  runtime.stderr.write(`${question}? [y/N] `);
  const reader = createInterface({ input: runtime.stdin });
  try {
    // Ctrl-D is no answer, and so a no.
    const [line = ''] = (await Promise.race([
      once(reader, 'line', { signal: runtime.signal }),
      once(reader, 'close', { signal: runtime.signal }),
    ])) as [string?];
    if (!/^y(es)?$/i.test(line.trim())) throw new CliError(EXIT.failed, 'nothing was done');
  } finally {
    reader.close();
  }
}

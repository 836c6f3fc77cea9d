import { createInterface } from 'node:readline/promises';
import type { Context, Option } from '../command.ts';
import { CliError, EXIT } from '../exit.ts';

export const yesOption = {
  yes: { short: 'y', summary: 'do not ask whether it is meant' },
} as const satisfies Readonly<Record<string, Option>>;

/**
 * For what cannot be undone. On a terminal a person is asked; a script has to say `--yes`, as nobody would answer it.
 * @throws CliError 2 without a terminal, 1 when the answer is no
 */
export async function confirm({ world, given }: Context, question: string): Promise<void> {
  if (given.switch('yes')) return;
  if (world.stdin.isTTY !== true) {
    throw new CliError(EXIT.usage, `${question}: say --yes if that is meant`);
  }
  // On stderr: stdout is for the answer, which may go into a file.
  const reader = createInterface({ input: world.stdin, output: process.stderr, terminal: false });
  try {
    const answer = await reader.question(`${question}? [y/N] `, { signal: world.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(EXIT.failed, 'nothing was done');
  } finally {
    reader.close();
  }
}

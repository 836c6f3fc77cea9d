import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Context, Option } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';

export const yesOption = {
  yes: { short: 'y', summary: 'do not ask for confirmation' },
} as const satisfies Readonly<Record<string, Option>>;

/**
 * For what cannot be undone. On a terminal it asks the person. A script must give `--yes`, because nobody would answer.
 * @throws CliError 2 without a terminal, 1 when the answer is no
 */
export async function confirm({ runtime, given }: Context, question: string): Promise<void> {
  if (given.switch('yes')) return;
  if (runtime.stdin.isTTY !== true) {
    throw new CliError(EXIT.usage, `${question}: give --yes to confirm`);
  }
  // On stderr, because stdout may go into a file.
  runtime.stderr.write(`${question}? [y/N] `);
  const reader = createInterface({ input: runtime.stdin });
  try {
    // Ctrl-D gives no answer and counts as no.
    const [line = ''] = (await Promise.race([
      once(reader, 'line', { signal: runtime.signal }),
      once(reader, 'close', { signal: runtime.signal }),
    ])) as [string?];
    if (!/^y(es)?$/i.test(line.trim())) throw new CliError(EXIT.failed, 'cancelled: nothing was changed');
  } finally {
    reader.close();
  }
}

import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CliError, EXIT } from '../exit.ts';
import type { Runtime } from '../runtime.ts';

/** Asks a person at the terminal. Questions go to stderr, because stdout may go into a file. */
export interface Asker {
  /** The answer, or the default for an empty one. Asks again while it is empty and there is no default. */
  text(question: string, preset?: string): Promise<string>;
  /** What is typed is not shown. Empty is an answer. */
  secret(question: string): Promise<string>;
  /** A name from `options` (name, label), by its number or name. The first is the default. */
  choice(question: string, options: readonly (readonly [name: string, label: string])[]): Promise<string>;
  close(): void;
}

/** @throws CliError 130 from each question after Ctrl-C or Ctrl-D */
export function openAsker({ stdin, stderr, signal }: Runtime): Asker {
  let hidden = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!hidden) stderr.write(chunk.toString());
      done();
    },
  });
  const reader = createInterface({ input: stdin, output, terminal: true });
  // Lines may come faster than questions, from somebody who pastes them.
  const lines: string[] = [];
  let waiting: ((line: string | null) => void) | null = null;
  let closed = false;
  const hand = (line: string | null) => {
    const asked = waiting;
    waiting = null;
    if (asked !== null) asked(line);
    else if (line !== null) lines.push(line);
  };
  reader.on('line', hand);
  reader.on('close', () => {
    closed = true;
    hand(null);
  });
  signal.addEventListener('abort', () => reader.close(), { once: true });

  const next = async (prompt: string): Promise<string> => {
    stderr.write(prompt);
    const line =
      lines.shift() ??
      (closed
        ? null
        : await new Promise<string | null>((resolve) => {
            waiting = resolve;
          }));
    if (line === null) throw new CliError(EXIT.interrupted, 'cancelled: nothing was written');
    return line.trim();
  };

  const asker: Asker = {
    text: async (question, preset) => {
      for (;;) {
        const line = await next(`${question}${preset === undefined ? '' : ` [${preset}]`}: `);
        const answer = line === '' ? preset : line;
        if (answer !== undefined) return answer;
      }
    },
    secret: async (question) => {
      hidden = true;
      try {
        return await next(`${question} (not shown): `);
      } finally {
        hidden = false;
        stderr.write('\n');
      }
    },
    choice: async (question, options) => {
      const list = options.map(([name, label], at) => `  ${at + 1}. ${name}: ${label}\n`).join('');
      stderr.write(`\n${question}\n${list}`);
      for (;;) {
        const line = await next('number or name [1]: ');
        const chosen = options[Number(line === '' ? 1 : line) - 1] ?? options.find(([name]) => name === line);
        if (chosen !== undefined) return chosen[0];
        stderr.write(`there is no "${line}" in this list\n`);
      }
    },
    close: () => reader.close(),
  };
  return asker;
}

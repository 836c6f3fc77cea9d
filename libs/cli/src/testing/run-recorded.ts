import { PassThrough, Readable } from 'node:stream';
import { runCli } from '../cli.ts';
import type { Runtime } from '../runtime.ts';

export interface RecordedRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RecordedRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Text that is piped in. If absent, stdin is a terminal. */
  readonly input?: string;
  /** Text that a person types at that terminal, all at once. */
  readonly typed?: string;
  /** What a person types at that terminal, one after the other, each when the text before it is the last on the screen. */
  readonly dialogue?: readonly (readonly [prompt: string, typed: string])[];
  /** Width of the terminal on stdout. If absent, stdout is a pipe. */
  readonly columns?: number;
  readonly now?: number;
  readonly signal?: AbortSignal;
  /** Called after each write, for commands that keep running. */
  readonly onOutput?: (soFar: { readonly stdout: string; readonly stderr: string }) => void;
}

/** Runs the command line in this process and returns everything that it wrote. */
export async function runRecorded(
  argv: readonly string[],
  options: RecordedRunOptions = {},
): Promise<RecordedRun> {
  let stdout = '';
  let stderr = '';
  const { input, columns, now } = options;
  const dialogue = [...(options.dialogue ?? [])];
  const typist = new PassThrough();
  const typeNext = () => {
    const [prompt, typed] = dialogue[0] ?? [];
    if (prompt === undefined || !stderr.endsWith(prompt)) return;
    dialogue.shift();
    typist.write(`${typed}\r`);
  };
  const runtime: Runtime = {
    env: options.env ?? {},
    cwd: options.cwd ?? '/nowhere',
    stdin: Object.assign(
      options.dialogue ? typist : Readable.from([Buffer.from(input ?? options.typed ?? '')]),
      { isTTY: input === undefined },
    ),
    stdout: {
      write: (text) => {
        stdout += text;
        options.onOutput?.({ stdout, stderr });
      },
      ...(columns === undefined ? {} : { isTTY: true, columns }),
    },
    stderr: {
      write: (text) => {
        stderr += text;
        typeNext();
        options.onOutput?.({ stdout, stderr });
      },
    },
    signal: options.signal ?? new AbortController().signal,
    now: () => now ?? Date.now(),
  };
  const code = await runCli(argv, runtime);
  return { code, stdout, stderr };
}

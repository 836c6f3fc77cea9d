import { Readable } from 'node:stream';
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
  /** Text that a person types at that terminal. */
  readonly typed?: string;
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
  const runtime: Runtime = {
    env: options.env ?? {},
    cwd: options.cwd ?? '/nowhere',
    stdin: Object.assign(Readable.from([Buffer.from(input ?? options.typed ?? '')]), {
      isTTY: input === undefined,
    }),
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
        options.onOutput?.({ stdout, stderr });
      },
    },
    signal: options.signal ?? new AbortController().signal,
    now: () => now ?? Date.now(),
  };
  const code = await runCli(argv, runtime);
  return { code, stdout, stderr };
}

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
  /** What is piped in; a terminal when absent. */
  readonly input?: string;
  /** What a person types at that terminal. */
  readonly typed?: string;
  /** Of a terminal on stdout; a pipe when absent. */
  readonly columns?: number;
  readonly now?: number;
  readonly signal?: AbortSignal;
  /** Told of what is written, as it is written: for commands that go on. */
  readonly onOutput?: (soFar: { readonly stdout: string; readonly stderr: string }) => void;
}

/** One call of the command line in this process, with everything that it wrote. */
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

import { Readable } from 'node:stream';
import { runCli } from '../cli.ts';
import type { World } from '../world.ts';

export interface Recorded {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RecordedOptions {
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
export async function recorded(argv: readonly string[], options: RecordedOptions = {}): Promise<Recorded> {
  let stdout = '';
  let stderr = '';
  const { input, columns, now } = options;
  const world: World = {
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
  const code = await runCli(argv, world);
  return { code, stdout, stderr };
}

import type { Readable } from 'node:stream';

/** What a command may use of the process that it runs in. main.ts passes Node's own process, tests pass a recording. */
export interface Runtime {
  /** With the variables of `.env` beside the config file. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Without them. Default: `env`. */
  readonly bareEnv?: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly now: () => number;
}

export interface Sink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

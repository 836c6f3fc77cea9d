import type { Readable } from 'node:stream';

/** Everything outside that a command may touch: the process in main.ts, a recording in tests. */
export interface Runtime {
  readonly env: Readonly<Record<string, string | undefined>>;
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

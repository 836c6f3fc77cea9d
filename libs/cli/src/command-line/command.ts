import type { Api } from '../api/client.ts';
import type { Runtime } from '../runtime.ts';
import type { Output } from '../terminal/output.ts';

/**
 * A command as data: help, completion, docs/cli.md and the parser are all made of this. `run` imports what is heavy (the
 * database, the config's schema) by itself, so that a command of the API starts without it.
 */
export interface Command {
  /** `sessions`, or with its group: `routes add`. */
  readonly name: string;
  readonly summary: string;
  /** Whole sentences, below the usage. */
  readonly description?: string;
  /** In their order. */
  readonly arguments?: readonly Argument[];
  readonly options?: Readonly<Record<string, Option>>;
  /** At least one. Each is shown, and docs/cli.md repeats them. */
  readonly examples: readonly Example[];
  /** Runs when its group is called without a further word. */
  readonly isDefault?: true;
  /** The calls of the API that it stands for, as `get /v1/sessions`: a test looks whether one is missing. */
  readonly calls?: readonly string[];
  readonly run: (context: Context) => Promise<ExitCodeOrNothing>;
}

/** Nothing stands for 0. */
export type ExitCodeOrNothing = number | undefined;

export interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly optional?: true;
  /** The last one may take all that follow. */
  readonly many?: true;
  readonly values?: readonly string[];
}

export interface Option {
  readonly summary: string;
  /** What the help calls its value; absent: a switch. A `time` is checked before the command runs. */
  readonly value?: string;
  readonly short?: string;
  /** The only ones that are taken. */
  readonly values?: readonly string[];
  /** May be given several times. */
  readonly many?: true;
  /** The value is a file: completion offers files. */
  readonly file?: true;
}

export interface Example {
  readonly command: string;
  readonly does: string;
}

export interface Context {
  readonly runtime: Runtime;
  readonly out: Output;
  readonly given: Given;
  /** Connects when it is first used: commands that need no server never ask for a token. */
  readonly api: () => Api;
}

/** What was given on the command line, by name. A name that the command does not declare is a mistake of ours. */
export interface Given {
  /** Null: an optional argument that was left out. */
  argument(name: string): string | null;
  argumentsFrom(name: string): readonly string[];
  text(option: string): string | null;
  texts(option: string): readonly string[];
  switch(option: string): boolean;
  /** @throws CliError 2 for what is no whole number within the bounds */
  number(option: string, bounds: { readonly from: number; readonly to: number }): number | null;
  /** In milliseconds, of `90`, `90s`, `5m`, `2h`. @throws CliError 2 */
  duration(option: string): number | null;
}

export function defineCommand(command: Command): Command {
  return command;
}

import type { Api } from '../api/client.ts';
import type { Named } from '../names/named.ts';
import type { Runtime } from '../runtime.ts';
import type { Output } from '../terminal/output.ts';

/**
 * A command as data. Help, completion, docs/cli.md and the parser all read it. `run` imports heavy packages (database,
 * config schema) itself, so that a command that only calls the API starts without them.
 */
export interface Command {
  /** `sessions`, or with the group before it: `routes add`. */
  readonly name: string;
  readonly summary: string;
  /** Whole sentences, shown below the usage. */
  readonly description?: string;
  /** In the order in which the user gives them. */
  readonly arguments?: readonly Argument[];
  readonly options?: Readonly<Record<string, Option>>;
  /** At least one. Help and docs/cli.md show all of them. */
  readonly examples: readonly Example[];
  /** Runs when the user names only the group. */
  readonly isDefault?: true;
  /** The API calls that it makes, such as `get /v1/sessions`. A test checks that every API call has a command. */
  readonly calls?: readonly string[];
  readonly run: (context: Context) => Promise<ExitCodeOrNothing>;
}

/** Undefined means 0. */
export type ExitCodeOrNothing = number | undefined;

export interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly optional?: true;
  /** Takes all further words. Only the last argument may have it. */
  readonly many?: true;
  readonly values?: readonly string[];
  /** What it names. The command gets the whole id, and completion offers what there is. */
  readonly names?: Named;
}

export interface Option {
  readonly summary: string;
  /** The name of its value in the help. Absent for a switch. A `time` is checked before the command runs. */
  readonly value?: string;
  readonly short?: string;
  /** The only allowed values. */
  readonly values?: readonly string[];
  /** The user may repeat it. */
  readonly many?: true;
  /** As for an argument. */
  readonly names?: Named;
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
  /** Reads address and token when a command first calls it. Commands that need no server never ask for a token. */
  readonly api: () => Api;
}

/** The values from the command line, by name. Asking for a name that the command does not declare is a bug. */
export interface Given {
  /** Null for an optional argument that the user left out. */
  argument(name: string): string | null;
  argumentsFrom(name: string): readonly string[];
  text(option: string): string | null;
  texts(option: string): readonly string[];
  switch(option: string): boolean;
  /** @throws CliError 2 unless it is a whole number within the bounds */
  number(option: string, bounds: { readonly from: number; readonly to: number }): number | null;
  /** `90`, `90s`, `5m` or `2h` in milliseconds. @throws CliError 2 */
  duration(option: string): number | null;
}

export function defineCommand(command: Command): Command {
  return command;
}

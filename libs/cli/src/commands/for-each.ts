import { CliError, EXIT, type ExitCode } from '../exit.ts';
import type { Output } from '../terminal/output.ts';

/** Failures that concern one name only. Any other failure (no server, no token) concerns all and ends the command. */
const CONCERNS_ONE: readonly ExitCode[] = [EXIT.usage, EXIT.notFound, EXIT.refused];

/**
 * Runs the action for each name. A failure of one (it has ended, it does not exist) goes to stderr and does not stop the
 * others. The exit code is that of the first failure.
 */
export async function forEachNamed(
  { out }: { readonly out: Pick<Output, 'failure'> },
  names: readonly string[],
  action: (name: string) => Promise<void>,
): Promise<number | undefined> {
  let code: ExitCode | undefined;
  for (const name of names) {
    try {
      await action(name);
    } catch (error) {
      // The failure of a single name is the failure of the command.
      if (!(error instanceof CliError) || !CONCERNS_ONE.includes(error.exitCode) || names.length === 1)
        throw error;
      out.failure(new CliError(error.exitCode, `${name}: ${error.message}`, error.whatToDo));
      code ??= error.exitCode;
    }
  }
  return code;
}

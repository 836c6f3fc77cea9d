import { CliError, EXIT, type ExitCode } from '../exit.ts';
import type { Output } from '../terminal/output.ts';

/** Of one of several: the others are done all the same. What is wrong for all (no server, no token) ends the command. */
const OF_ONE: readonly ExitCode[] = [EXIT.usage, EXIT.notFound, EXIT.refused];

/**
 * Does it to each that was named. One that cannot be (it has ended meanwhile, it is not there) is told on stderr, does not
 * keep the next from it, and gives the exit code: the first such one's.
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
      // Alone it is the command's own failure.
      if (!(error instanceof CliError) || !OF_ONE.includes(error.exitCode) || names.length === 1) throw error;
      out.failure(new CliError(error.exitCode, `${name}: ${error.message}`, error.whatToDo));
      code ??= error.exitCode;
    }
  }
  return code;
}

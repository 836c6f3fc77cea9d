import { type RecordedRun, type RecordedRunOptions, runRecorded } from '@angelia/cli/testing';
import { expect } from '@jest/globals';

/** Calls the command line from a test. The surroundings are a function, because they are known only after the stack started. */
export function commandLine(
  surroundings: () => { readonly cwd: string; readonly env: Record<string, string> },
) {
  const angelia = (argv: readonly string[], options: RecordedRunOptions = {}): Promise<RecordedRun> => {
    const { cwd, env } = surroundings();
    return runRecorded(argv, { cwd, ...options, env: { ...env, ...options.env } });
  };

  const succeeds = async (argv: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await angelia([...argv, '--json']);
    expect([argv, code, stderr]).toEqual([argv, 0, '']);
    return stdout;
  };

  return {
    angelia,

    /** The command must succeed and print nothing on stderr. */
    json: async <T = Record<string, unknown>>(...argv: string[]): Promise<T> =>
      JSON.parse(await succeeds(argv)) as T,

    lines: async (...argv: string[]): Promise<Record<string, unknown>[]> =>
      (await succeeds(argv))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),

    /** The command must fail with this code, and print the reason and at most one line of advice. */
    refused: async (code: number, ...argv: string[]): Promise<string> => {
      const result = await angelia(argv);
      expect([argv, result.code, result.stdout]).toEqual([argv, code, '']);
      expect(result.stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
      return result.stderr;
    },

    /** A command that runs until Ctrl-C. */
    goingOn: (...argv: string[]) => {
      const ctrlC = new AbortController();
      let seen = { stdout: '', stderr: '' };
      const end = angelia(argv, {
        signal: ctrlC.signal,
        onOutput: (soFar) => {
          seen = soFar;
        },
      });
      return {
        seen: () => seen,
        interrupted: () => {
          ctrlC.abort();
          return end;
        },
      };
    },
  };
}

import { type RecordedRun, type RecordedRunOptions, runRecorded } from '@angelia/cli/testing';
import { expect } from '@jest/globals';

/** The command line as a test calls it; the surroundings are known once the stack is there. */
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

    /** It must succeed, and say nothing beside its answer. */
    json: async <T = Record<string, unknown>>(...argv: string[]): Promise<T> =>
      JSON.parse(await succeeds(argv)) as T,

    lines: async (...argv: string[]): Promise<Record<string, unknown>[]> =>
      (await succeeds(argv))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),

    /** It must fail with this code, with one line of reason and one of advice at most. */
    refused: async (code: number, ...argv: string[]): Promise<string> => {
      const result = await angelia(argv);
      expect([argv, result.code, result.stdout]).toEqual([argv, code, '']);
      expect(result.stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
      return result.stderr;
    },

    /** A command that ends only by Ctrl-C. */
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

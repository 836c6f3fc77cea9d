import { expect, it } from '@jest/globals';
import { CliError, EXIT, type ExitCode } from '../exit.ts';
import { forEachNamed } from './for-each.ts';

const failing = (codes: Readonly<Record<string, ExitCode>>) => {
  const done: string[] = [];
  const told: string[] = [];
  return {
    done,
    told,
    run: (...names: string[]) =>
      forEachNamed({ out: { failure: ({ message }) => told.push(message) } }, names, async (name) => {
        const code = codes[name];
        if (code !== undefined) throw new CliError(code, 'it cannot be');
        done.push(name);
      }),
  };
};

it('one of several that cannot be done keeps no other from it, and gives the exit code', async () => {
  const { run, done, told } = failing({ b: EXIT.refused, c: EXIT.notFound });
  expect(await run('a', 'b', 'c', 'd')).toBe(EXIT.refused);
  expect(done).toEqual(['a', 'd']);
  expect(told).toEqual(['b: it cannot be', 'c: it cannot be']);
});

it('all that can be done are no failure', async () => {
  expect(await failing({}).run('a', 'b')).toBeUndefined();
});

it.each([
  ['a server that is away', ['a', 'b'], EXIT.unreachable],
  ['the only one that was named', ['a'], EXIT.refused],
] as const)('%s ends the command', async (_, names, code) => {
  const { run, done } = failing({ a: code });
  await expect(run(...names)).rejects.toMatchObject({ exitCode: code, message: 'it cannot be' });
  expect(done).toEqual([]);
});

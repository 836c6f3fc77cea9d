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
        if (code !== undefined) throw new CliError(code, 'not possible');
        done.push(name);
      }),
  };
};

it('a failure of one name does not stop the others, and gives the exit code', async () => {
  const { run, done, told } = failing({ b: EXIT.refused, c: EXIT.notFound });
  expect(await run('a', 'b', 'c', 'd')).toBe(EXIT.refused);
  expect(done).toEqual(['a', 'd']);
  expect(told).toEqual(['b: not possible', 'c: not possible']);
});

it('without a failure there is no exit code', async () => {
  expect(await failing({}).run('a', 'b')).toBeUndefined();
});

it.each([
  ['an unreachable server', ['a', 'b'], EXIT.unreachable],
  ['the failure of the only name', ['a'], EXIT.refused],
] as const)('%s ends the command', async (_, names, code) => {
  const { run, done } = failing({ a: code });
  await expect(run(...names)).rejects.toMatchObject({ exitCode: code, message: 'not possible' });
  expect(done).toEqual([]);
});

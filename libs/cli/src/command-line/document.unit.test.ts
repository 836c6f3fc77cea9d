import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { commands } from '../commands/all-commands.ts';
import { cliDocument } from './document.ts';
import { globalOptions } from './global-options.ts';

describe('docs/cli.md', () => {
  it('is up to date (else: node libs/cli/src/commands/write-document.ts)', () => {
    const written = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');
    expect(written).toBe(cliDocument(commands));
  });

  it.each(commands.map((command) => [command.name, command] as const))(
    '%s has an example that begins with its own name and uses options that exist',
    (name, command) => {
      expect(command.examples.length).toBeGreaterThan(0);
      const group = command.isDefault === true ? name.split(' ')[0] : name;
      expect(command.examples.some(({ command: line }) => line.includes(`angelia ${group}`))).toBe(true);
      const known = { ...globalOptions, ...command.options };
      const used = command.examples.flatMap(({ command: line }) =>
        [...line.matchAll(/ --([a-z-]+)/g)].map(([, option = '']) => option),
      );
      expect(used.filter((option) => !Object.hasOwn(known, option))).toEqual([]);
    },
  );

  it('no two commands have the same name, and no option hides a global one', () => {
    expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length);
    const hidden = commands.flatMap(({ name, options = {} }) =>
      Object.keys(options)
        .filter((option) => Object.hasOwn(globalOptions, option))
        .map((option) => `${name} --${option}`),
    );
    expect(hidden).toEqual([]);
  });
});

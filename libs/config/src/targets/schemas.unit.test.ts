import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { knownTargets, targetSchema } from './schemas.ts';

const text = readFileSync(new URL('../../../../docs/targets.md', import.meta.url), 'utf8');
const cellsOf = (line: string): string[] => line.split('|').map((cell) => cell.trim());

describe('docs/targets.md', () => {
  it.each(knownTargets)('has a row for %s with every key of its address and its options', (name) => {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\` `));
    const [, , address, options] = cellsOf(row ?? '');
    const schema = targetSchema(name);
    expect(keysIn(address)).toEqual(expect.arrayContaining(keysOf(schema.address)));
    expect(keysIn(options)).toEqual(expect.arrayContaining(keysOf(schema.options)));
  });

  it('names those that can edit', () => {
    const [sentence = ''] = /\*\*`interim: edit`\*\* works with [^.]*/.exec(text) ?? [];
    const named = knownTargets.filter((name) => sentence.includes(`\`${name}\``));
    expect(named).toEqual(knownTargets.filter((name) => targetSchema(name).edits === true));
  });
});

function keysIn(cell = ''): string[] {
  return [...cell.matchAll(/`([a-z_]+)`/g)].map(([, key = '']) => key);
}

function keysOf(schema: z.ZodType): string[] {
  const { properties } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.keys(properties ?? {});
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

/** What a file imports as it loads: neither types nor `await import(...)`. */
function importsOf(code: string): string[] {
  const statements = /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\bfrom\s*)?'([^']+)'/gm;
  return [...code.matchAll(statements)].map(([, name = '']) => name);
}

const { resolve: fileOf } = createRequire(import.meta.url);

it('the command line starts with files of ours only: no Nest, no pg, no zod', () => {
  const seen = new Set<string>();
  const packages: string[] = [];
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const name of importsOf(readFileSync(file, 'utf8'))) {
      if (name.startsWith('.')) visit(resolve(dirname(file), name));
      else if (name.startsWith('@angelia/')) visit(fileOf(name));
      else if (!name.startsWith('node:')) packages.push(`${file} imports ${name}`);
    }
  };
  visit(fileURLToPath(new URL('./main.ts', import.meta.url)));
  expect(packages).toEqual([]);
  // It visited our commands and the packages that they import.
  const files = [...seen];
  expect(files.some((file) => file.endsWith('commands/maintenance.ts'))).toBe(true);
  expect(files.some((file) => file.endsWith('waiting/src/pause.ts'))).toBe(true);
});

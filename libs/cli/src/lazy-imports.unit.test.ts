import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

/** What a file imports at once: neither types nor `await import(...)`. */
function importsOf(code: string): string[] {
  const statements = /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\bfrom\s*)?'([^']+)'/gm;
  return [...code.matchAll(statements)].map(([, name = '']) => name);
}

it('the command line starts without a single package: no Nest, no pg, no zod', () => {
  const seen = new Set<string>();
  const packages: string[] = [];
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const name of importsOf(readFileSync(file, 'utf8'))) {
      if (name.startsWith('.')) visit(resolve(dirname(file), name));
      else if (!name.startsWith('node:')) packages.push(`${file} imports ${name}`);
    }
  };
  visit(fileURLToPath(new URL('./main.ts', import.meta.url)));
  expect(packages).toEqual([]);
  // It really went through them.
  expect([...seen].some((file) => file.endsWith('commands/maintenance.ts'))).toBe(true);
});

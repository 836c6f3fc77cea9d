import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = resolve(import.meta.dirname, '..');
const docs = join(root, 'docs');
const read = (name: string) => readFileSync(join(docs, name), 'utf8');

describe('docs/README.md', () => {
  it('names every page', () => {
    const pages = readdirSync(docs).filter((name) => name.endsWith('.md') && name !== 'README.md');
    const contents = read('README.md');
    expect(pages.filter((page) => !contents.includes(`](${page}`))).toEqual([]);
  });
});

describe('docs/glossary.md', () => {
  it('is in alphabetical order', () => {
    const words = [...read('glossary.md').matchAll(/^## (.+)$/gm)].map(([, word]) => word as string);
    expect(words.length).toBeGreaterThan(0);
    expect(words).toEqual(words.toSorted((a, b) => a.localeCompare(b)));
  });
});

/** An operator searches logs for these: reword the code and the page together. */
const QUOTED: readonly (readonly [page: string, text: string])[] = [
  ['operate.md', 'hint failed; will be redelivered'],
  ['operate.md', 'led work failed'],
  ['operate.md', 'the hint stream is new or was emptied'],
  ['operate.md', 'the message is not a hint'],
  ['operate.md', 'the supervisor of commands does not answer'],
  ['operate.md', 'the schema angelia is older than this program'],
  ['operate.md', 'this log was written in the Postgres cluster'],
  ['kubernetes.md', 'waiting for Postgres'],
];

describe('log lines and errors that the docs quote', () => {
  const sources = ['libs', 'services'].flatMap((part) =>
    readdirSync(join(root, part)).flatMap((name) => sourcesIn(join(root, part, name, 'src'))),
  );
  const code = sources.map((file) => readFileSync(file, 'utf8'));

  it.each(QUOTED)('%s: %s', (page, text) => {
    expect(read(page).replaceAll(/\s+/g, ' ')).toContain(text);
    expect(code.some((source) => source.includes(text))).toBe(true);
  });
});

function sourcesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(directory, name));
}

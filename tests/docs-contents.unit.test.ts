import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const docs = resolve(import.meta.dirname, '../docs');
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

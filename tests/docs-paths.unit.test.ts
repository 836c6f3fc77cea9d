import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

// A page that names a file which has moved sends its reader nowhere. Every path in code spans must exist.

const root = resolve(import.meta.dirname, '..');
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...['docs', 'docs/adr'].flatMap((dir) =>
    readdirSync(join(root, dir)).flatMap((name) => (name.endsWith('.md') ? [`${dir}/${name}`] : [])),
  ),
];

/** Pages for whoever changes the code: there a bare file name is no help, since several folders may have it. */
const FOR_DEVELOPERS = ['ARCHITECTURE.md', 'CONTRIBUTING.md'];

const PATH = /^(libs|services|deploy|tests|docs)\/[\w./*{},-]+$/;
const SOURCE_FILE = /^[\w./-]+\.(ts|mjs|sql)$/;

function codeSpans(text: string): string[] {
  const prose = text.replaceAll(/```.*?```/gs, '');
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

function isThere(path: string): boolean {
  return /[*{]/.test(path) ? globSync(path, { cwd: root }).length > 0 : existsSync(join(root, path));
}

describe.each(pages)('%s', (page) => {
  const spans = codeSpans(readFileSync(join(root, page), 'utf8'));

  it('names no path that does not exist', () => {
    expect(spans.filter((span) => PATH.test(span) && !isThere(span))).toEqual([]);
  });

  if (FOR_DEVELOPERS.includes(page)) {
    it('names source files by their whole path', () => {
      expect(spans.filter((span) => SOURCE_FILE.test(span) && !PATH.test(span))).toEqual([]);
    });
  }
});

describe('ARCHITECTURE.md', () => {
  it('fits three screens', () => {
    const lines = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(150);
  });

  it('names a file or folder of every service and library', () => {
    const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const packages = ['libs', 'services'].flatMap((dir) =>
      readdirSync(join(root, dir)).map((name) => `${dir}/${name}`),
    );
    expect(packages.filter((path) => !text.includes(path))).toEqual([]);
  });
});

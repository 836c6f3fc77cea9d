import type { Loaded } from '@angelia/sessions';
import { describe, expect, it } from '@jest/globals';
import { fileChunks, namedFiles } from './named-files.ts';

describe('files are named by', () => {
  it.each([
    ['a link', 'See [the report](report.csv).', ['report.csv']],
    ['an image', '![plot](out/plot.png)', ['out/plot.png']],
    ['a link in a list in a quote', '> - [a](./a.txt)', ['a.txt']],
    ['a path with blanks', '[a](<my report.csv>) [b](my%20other.csv)', ['my report.csv', 'my other.csv']],
    ['several links to one file, once', '[a](a.txt) [b](./a.txt)', ['a.txt']],
  ])('%s', (_what, text, paths) => {
    expect(namedFiles(text)).toEqual(paths.map((path) => ({ path, why: null })));
  });
});

it.each([
  ['a web page', '[a](https://example.com/a.csv)'],
  ['an address of another scheme', '[a](file:///etc/passwd.txt) [b](//host/a.txt)'],
  ['a heading or a query', '[a](#a.txt) [b](?a.txt)'],
  ['something without an ending', '[a](Makefile) [b](docs/) [c](.env) [d](out/.bashrc)'],
  ['code', '`[a](a.txt)`\n\n```\n[b](b.txt)\n```'],
  ['words', 'report.csv'],
])('%s names no file', (_what, text) => {
  expect(namedFiles(text)).toEqual([]);
});

it.each([
  ['an absolute path', '[a](/etc/passwd.txt)'],
  ['a way up', '[a](../b/secret.txt)'],
  ['a way up further down', '[a](out/../../secret.txt)'],
  ['an encoded way up', '[a](%2e%2e/secret.txt)'],
  ['an empty step', '[a](out//a.txt)'],
])('%s is named and refused', (_what, text) => {
  expect(namedFiles(text)).toMatchObject([
    { why: expect.stringContaining('in the directory of the session') },
  ]);
});

it.each(['[a](a%0d%0ab.txt)', '[a](a%00.txt)', '[a](<a"b.txt>)', '[a](a%60.txt)', '[a](a%E2%80%AEvsc.txt)'])(
  'a name that could pass as something else is refused: %s',
  (text) => {
    expect(namedFiles(text)).toMatchObject([{ why: expect.stringContaining('characters') }]);
  },
);

it('an answer has at most four files, and says of one more that it and the others were left out', () => {
  const links = Array.from({ length: 7 }, (_, index) => `[x](${index}.txt)`).join(' ');
  const files = namedFiles(links);
  expect(files.map(({ path }) => path)).toEqual(['0.txt', '1.txt', '2.txt', '3.txt', '4.txt']);
  expect(files.map(({ why }) => why === null)).toEqual([true, true, true, true, false]);
  expect(files[4]?.why).toContain('2 more');
});

describe('an output has chunks for files', () => {
  const created = { deliverFiles: { max_bytes: 1, types: [] } };
  const chunksOf = (type: 'final-response' | 'interim-status', of: object) =>
    fileChunks({ type, text: '[a](a.txt)' }, { state: { created: of } } as unknown as Loaded).length;

  it('only if it is a final response of a session that was created with them', () => {
    expect(chunksOf('final-response', created)).toBe(1);
    expect(chunksOf('final-response', {})).toBe(0);
    expect(chunksOf('interim-status', created)).toBe(0);
  });
});

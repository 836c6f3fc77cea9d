import { describe, expect, it } from '@jest/globals';
import { MOST_CHARACTERS, type SafeNode, safeHref, safeMarkdown } from './safe-markdown.ts';

const HOSTILE = [
  '<script>fetch("/v1/sessions")</script>',
  '<img src=x onerror=alert(1)>',
  'a <b onclick="x()">bold</b> word',
  '<iframe src="https://example.com"></iframe>',
  '<style>body{display:none}</style>',
];

/** Every node of a tree. */
function all(nodes: readonly SafeNode[]): SafeNode[] {
  return nodes.flatMap((node) => {
    if ('children' in node) return [node, ...all(node.children)];
    if (node.kind === 'list') return [node, ...node.items.flatMap(({ children }) => all(children))];
    if (node.kind === 'table') return [node, ...all([...node.header, ...node.rows.flat()].flat())];
    return [node];
  });
}
const parsed = (text: string): SafeNode[] => all(safeMarkdown(text) ?? []);
const texts = (text: string): string =>
  parsed(text)
    .map((node) => ('text' in node ? node.text : ''))
    .join('');

describe('Markdown of strangers', () => {
  it.each(HOSTILE)('shows HTML as it was written: %s', (html) => {
    const kinds = new Set(parsed(html).map(({ kind }) => kind));
    expect([...kinds].filter((kind) => !['text', 'paragraph'].includes(kind))).toEqual([]);
    expect(texts(html).replaceAll('\n', '')).toBe(html);
  });

  it.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](data:text/html,<script>1</script>)',
    '[x](vbscript:x)',
    '[x](/v1/sessions)',
    '[x](//example.com/a)',
    '[x][1]\n\n[1]: javascript:alert(1)',
    '<javascript:alert(1)>',
  ])('makes no link of %s', (text) => {
    expect(parsed(text).filter(({ kind }) => kind === 'link')).toEqual([]);
  });

  it('makes links of web and mail addresses', () => {
    expect(parsed('[a](https://example.com/x?y=1) <mailto:a@example.com>')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'link', href: 'https://example.com/x?y=1' }),
        expect.objectContaining({ kind: 'link', href: 'mailto:a@example.com' }),
      ]),
    );
  });

  it('names an image instead of loading it', () => {
    expect(parsed('![beacon](https://example.com/pixel.gif)')).toContainEqual({
      kind: 'image',
      href: 'https://example.com/pixel.gif',
      text: 'beacon',
    });
    expect(parsed('![x](javascript:alert(1))')).toContainEqual({ kind: 'image', href: null, text: 'x' });
  });

  it('shows an override of the direction by its number, also in code', () => {
    expect(texts('a\u202eb `c\u202ed`')).toBe('a⟨U+202E⟩b c⟨U+202E⟩d');
  });

  it('shows the common parts: headings, lists, tasks, tables, code, quotes', () => {
    const nodes = safeMarkdown(
      '# Title\n\n1. one\n2. two\n\n- [x] done\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```ts\nlet x;\n```\n\n> said',
    );
    expect(nodes?.map(({ kind }) => kind)).toEqual(['heading', 'list', 'list', 'table', 'block', 'quote']);
    expect(nodes?.[2]).toMatchObject({ items: [{ checked: true }] });
    expect(nodes?.[4]).toEqual({ kind: 'block', text: 'let x;', language: 'ts' });
  });

  it('is left as it is when it is too long or nests too deep', () => {
    expect(safeMarkdown('a'.repeat(MOST_CHARACTERS + 1))).toBeNull();
    expect(safeMarkdown('>'.repeat(5_000))).toBeNull();
    expect(safeMarkdown('- '.repeat(5_000))).toBeNull();
    // Deep in React, the stack is half used up already.
    const below = (calls: number): unknown =>
      calls === 0 ? safeMarkdown('\n'.repeat(MOST_CHARACTERS)) : below(calls - 1);
    expect(below(2_000)).toEqual([]);
    expect(() => safeMarkdown('['.repeat(20_000))).not.toThrow();
  });
});

it('a link has an address of its own', () => {
  expect(safeHref('https://example.com')).toBe('https://example.com/');
  expect(safeHref('java\nscript:alert(1)')).toBeNull();
  expect(safeHref('')).toBeNull();
});

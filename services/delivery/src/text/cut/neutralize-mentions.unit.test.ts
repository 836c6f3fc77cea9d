import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { chunksWithoutMentions, withoutMentions } from './neutralize-mentions.ts';

const ZERO_WIDTH = '\u200b';

describe('chunks without mentions', () => {
  it.each([
    ['one name', `\`${'word '.repeat(500)}@all ${'word '.repeat(100)}\``],
    ['a thousand names', `\`${'@all '.repeat(1_000)}\``],
  ])('have none, even if code with %s is cut in two', (_, source) => {
    const chunks = chunksWithoutMentions(source, 2_000);
    expect(chunks.length).toBeGreaterThan(1);
    for (const chunk of chunks) {
      expect(chunk.length).toBeLessThanOrEqual(2_000);
      for (const text of textsIn(chunk)) expect(text).not.toMatch(/(^|[^a-z0-9/])@[a-z]/i);
    }
  });
});

describe('Markdown without mentions', () => {
  it.each([
    ['@all', '@_all'],
    ['hello @someone, and @org/team.', 'hello @_someone, and @_org/team.'],
    ['_@all_ **@here** (@channel)', '_@_all_ **@_here** (@_channel)'],
    ['https://example.com_@all', 'https://example.com_@_all'],
    ['日本語@someone', '日本語@_someone'],
    ['&#64;all &#x40;all &commat;all &#0064;all', '@_all @_all @_all @_all'],
    ['@&#97;ll', '@_&#97;ll'],
    ['<div>&nbsp@all</div>', '<div>&nbsp@_all</div>'],
    ['[text](https://example.com)@someone', '[text](https://example.com)@_someone'],
    ['| a |\n| - |\n| `x | @all` |', '| a |\n| - |\n| `x | @_all` |'],
    ['> @all\n> @here', '> @_all\n> @_here'],
  ])('%j pings nobody', (source, expected) => {
    expect(withoutMentions(source)).toBe(expected.replaceAll('@_', `@${ZERO_WIDTH}`));
  });

  it.each([
    'me@example.com and first.last@example.com',
    '`npm install @angelia/session`',
    '```js\nimport x from "@scope/x"; // @all\n```',
    '    @indented code',
    'see https://example.com/@someone/posts?by=@me',
    '[a](https://example.com/@someone)',
    'an @ alone, and @!',
  ])('%j stays as it is', (source) => {
    expect(withoutMentions(source)).toBe(source);
  });

  it('pings nobody, whatever Markdown surrounds the names', () => {
    const part = fc.constantFrom(
      ...[
        '@all',
        '@',
        'all',
        '&#64;',
        '&#x40;',
        '&commat;',
        '&#97;',
        '&nbsp',
        '&nbsp;',
        '\\',
        ' ',
        '\n',
        '\n\n',
        'a',
        '.',
      ],
      ...[
        '`',
        '```',
        '```js\n',
        '~~~\n',
        '    ',
        '|',
        '| - |\n',
        '_',
        '**',
        '~~',
        '# ',
        '- ',
        '> ',
        '1. ',
        '[',
        ']',
        '(',
        ')',
      ],
      ...[
        '<',
        '>',
        '<b>',
        '</b>',
        '<!--',
        '-->',
        '<div>',
        'https://example.com',
        'https://example.com/',
        'www.example.com',
        '![',
      ],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 25 }), (parts) => {
        for (const text of textsIn(withoutMentions(parts.join('')))) {
          expect(text).not.toMatch(/(^|[^a-z0-9/])@[a-z]/i);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('pings nobody in any part of a long text', () => {
    const source = 'A `@code` and @name.\n\n```\n@code\n\n@code\n```\n\n'.repeat(400);
    const neutralized = withoutMentions(source);
    expect(neutralized.replaceAll(ZERO_WIDTH, '')).toBe(source);
    expect(neutralized.split(`@${ZERO_WIDTH}name`)).toHaveLength(401);
    expect(neutralized.split('@code')).toHaveLength(1_201);
  });

  it.each([
    '*a_`@b` '.repeat(20_000),
    `${'['.repeat(60_000)}\`@b\``,
    `${'> '.repeat(5_000)}\`@b\``,
    '`@b` '.repeat(60_000),
  ])('pings nobody without the parser, which would take minutes, so code changes too: %#', (source) => {
    expect(withoutMentions(source)).toBe(source.replaceAll('@', `@${ZERO_WIDTH}`));
  });
});

describe('Markdown without images', () => {
  const SECRET = 'https://evil.example/?q=secret';

  it.each([
    [`![](${SECRET})`, `!_[](${SECRET})`],
    [`see ![a @b](${SECRET} "t")`, `see !_[a @_b](${SECRET} "t")`],
    [`![a][x]\n\n[x]: ${SECRET}`, `!_[a][x]\n\n[x]: ${SECRET}`],
    [`[![a](${SECRET})](https://example.com)`, `[!_[a](${SECRET})](https://example.com)`],
    [`<img src="${SECRET}">`, `&lt;img src="${SECRET}">`],
    [
      `<details><picture><SOURCE srcset="${SECRET}"></picture></details>`,
      `<details>&lt;picture>&lt;SOURCE srcset="${SECRET}"></picture></details>`,
    ],
  ])('%j fetches nothing', (source, expected) => {
    const made = withoutMentions(source);
    expect(made).toBe(expected.replaceAll(/([!@])_/g, `$1${ZERO_WIDTH}`));
    expect(imagesIn(made)).toEqual([]);
  });

  it.each(['`![a](b)`', '```rust\n#![feature(x)]\n<img>\n```', 'wow! [a](b)', '<details>', 'a < image'])(
    '%j stays as it is',
    (source) => expect(withoutMentions(source)).toBe(source),
  );

  it('has none, whatever the text, in chunks too', () => {
    const bits = fc.constantFrom(
      '!',
      '[',
      ']',
      '(http://a/b)',
      '`',
      '\\',
      '\n',
      '\n\n',
      ' ',
      'a',
      '<img src=x>',
      '@b',
      '&#33;',
    );
    fc.assert(
      fc.property(
        fc.array(bits, { maxLength: 60 }).map((parts) => parts.join('')),
        (source) => {
          expect(imagesIn(withoutMentions(source))).toEqual([]);
          for (const chunk of chunksWithoutMentions(source, 100)) expect(imagesIn(chunk)).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});

function parsed(source: string): Nodes {
  return fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
}

function imagesIn(source: string): string[] {
  const found: string[] = [];
  const walk = (node: Nodes): void => {
    if (node.type === 'image' || node.type === 'imageReference') found.push(node.type);
    if (node.type === 'html' && /<(img|picture|source)/i.test(node.value)) found.push(node.value);
    if ('children' in node) for (const child of node.children) walk(child);
  };
  walk(parsed(source));
  return found;
}

/** The text as platforms see it when they look for names: entities are characters, and code is left out. */
function textsIn(source: string): string[] {
  const texts: string[] = [];
  const walk = (node: Nodes): void => {
    if (node.type === 'text') texts.push(node.value);
    // Platforms do not look for names in an address that they found in the text.
    if (
      node.type === 'link' &&
      node.children.some((child) => child.type === 'text' && node.url.endsWith(child.value))
    )
      return;
    if ('children' in node) for (const child of node.children) walk(child);
  };
  walk(parsed(source));
  return texts;
}

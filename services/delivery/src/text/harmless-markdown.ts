import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { cutMarkdown } from './cut-markdown.ts';
import { sectionsOf } from './sections.ts';

/** A zero-width space: it is not seen, and `@name` with it is nobody's name. */
const AFTER_AT = '\u200b';
/**
 * `@` or an entity that is shown as one, with no letter or digit before it: `me@example.com` is no mention. What is shown
 * counts, not what is written: platforms look for names in what they made of the Markdown, so that `_@all_`, `&#64;all`,
 * `@&#97;ll` and, in HTML, `&nbsp@all` are mentions too.
 */
const AT = /(?:(?<![a-z0-9])|(?<=&[a-z]{2,10}))(?:@|&#0*64;?|&#x0*40;?|&commat;)(?=[\p{L}\p{N}_&\\])/iu;
const AT_ALL = new RegExp(AT, 'giu');

/**
 * Markdown in which no name is mentioned: `@all`, `@someone`, `@org/team` ping nobody. Code and web addresses stay as
 * they are, unless the text is too much to be parsed.
 */
export function withoutMentions(source: string): string {
  return sectionsOf(source)
    .map(({ text, parse }) => withoutThose(text, parse && AT.test(text) ? keptIn(text) : []))
    .join('');
}

/** For what a second look at the pieces adds to them. */
const SPARE = 64;

/** The same as pieces of at most `limit`. A cut through code in a line leaves half of it as text, and a name with it. */
export function piecesWithoutMentions(source: string, limit: number): readonly string[] {
  const cut = cutMarkdown(withoutMentions(source), limit - SPARE);
  if (cut.length === 1) return cut;
  const pieces = cut.map(withoutMentions);
  if (pieces.every((piece) => piece.length <= limit)) return pieces;
  return cutMarkdown(withoutThose(source, []), limit);
}

function withoutThose(text: string, kept: readonly Range[]): string {
  let next = 0;
  return text.replace(AT_ALL, (at: string, position: number) => {
    // Both go forward: each range is passed once.
    while ((kept[next]?.[1] ?? Number.POSITIVE_INFINITY) <= position) next += 1;
    return (kept[next]?.[0] ?? Number.POSITIVE_INFINITY) <= position ? at : `@${AFTER_AT}`;
  });
}

type Range = readonly [from: number, to: number];

/**
 * Where code and web addresses stand, in order. What the parser takes for one of them no platform takes for text; what
 * only looks like an address (`https://example.com_@all` is none) is text to them.
 */
function keptIn(source: string): Range[] {
  const ranges: Range[] = [];
  const keep = (from: number | undefined, node: Nodes): void => {
    const to = node.position?.end.offset;
    if (from !== undefined && to !== undefined) ranges.push([from, to]);
  };
  const walk = (node: Nodes): void => {
    if ('children' in node) for (const child of node.children) walk(child);
    const start = node.position?.start.offset;
    switch (node.type) {
      case 'code':
      case 'inlineCode':
      case 'definition':
      case 'image':
        keep(start, node);
        break;
      case 'link':
        // Of `[label](address)` the label is text.
        keep(source[start ?? 0] === '[' ? node.children.at(-1)?.position?.end.offset : start, node);
        break;
    }
  };
  walk(fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }));
  return ranges.sort(([a], [b]) => a - b);
}

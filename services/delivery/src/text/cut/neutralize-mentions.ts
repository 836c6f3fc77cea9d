import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { sectionsOf } from '../read/parse-sections.ts';
import { cutWithin } from './cut-markdown.ts';
import { withinLimit } from './output-limit.ts';

/** A zero-width space: it is not seen, `@name` with it is nobody's name, and `![label](address)` a link behind a `!`. */
const UNSEEN = '\u200b';
/**
 * `@` or an entity that is shown as one, with no letter or digit before it: `me@example.com` is no mention. What is shown
 * counts, not what is written: platforms look for names in what they made of the Markdown, so that `_@all_`, `&#64;all`,
 * `@&#97;ll` and, in HTML, `&nbsp@all` are mentions too.
 */
const AT = /(?:(?<![a-z0-9])|(?<=&[a-z]{2,10}))(?:@|&#0*64;?|&#x0*40;?|&commat;)(?=[\p{L}\p{N}_&\\])/iu;
const AT_ALL = new RegExp(AT, 'giu');

/**
 * `![...]`, and what shows or plays something in HTML: fetched as soon as somebody looks, so that an address which a
 * stranger made the agent write would carry off what it holds without a click (as a preview would: telegram.ts).
 */
const MEDIA = /!(?=\[)|<(?=(?:img|image|picture|source|video|audio|track|embed|object|iframe|svg)\b)/i;
const MEDIA_ALL = new RegExp(MEDIA, 'gi');

/**
 * Markdown in which no name is mentioned: `@all`, `@someone`, `@org/team` ping nobody; and no image is shown: it is a
 * link. Code and web addresses stay as they are, unless the text is too much to be parsed.
 */
export function withoutMentions(source: string): string {
  return sectionsOf(withoutMedia(source))
    .map(({ text, parse }) => withoutThose(text, parse && AT.test(text) ? keptIn(text, ADDRESSES) : []))
    .join('');
}

function withoutMedia(source: string): string {
  if (!MEDIA.test(source)) return source;
  return sectionsOf(source)
    .map(({ text, parse }) => linksForMedia(text, parse && MEDIA.test(text) ? keptIn(text, CODE) : []))
    .join('');
}

function linksForMedia(text: string, kept: readonly Range[]): string {
  return outside(kept, text, MEDIA_ALL, (sign) => (sign === '<' ? '&lt;' : `!${UNSEEN}`));
}

/** For what a second look at the chunks adds to them. */
const SPARE = 64;

/** The same as chunks of at most `limit`. A cut through code in a line leaves half of it as text, and a name with it. */
export function chunksWithoutMentions(source: string, limit: number): readonly string[] {
  const within = withinLimit(source);
  const harmless = (text: string) => ({ ...within, text });
  const cut = cutWithin(harmless(withoutMentions(within.text)), limit - SPARE);
  if (cut.length === 1) return cut;
  const chunks = cut.map(withoutMentions);
  if (chunks.every((chunk) => chunk.length <= limit)) return chunks;
  return cutWithin(harmless(withoutThose(linksForMedia(within.text, []), [])), limit);
}

function withoutThose(text: string, kept: readonly Range[]): string {
  return outside(kept, text, AT_ALL, () => `@${UNSEEN}`);
}

function outside(
  kept: readonly Range[],
  text: string,
  pattern: RegExp,
  replacement: (found: string) => string,
): string {
  let next = 0;
  return text.replace(pattern, (found: string, position: number) => {
    // Both go forward: each range is passed once.
    while ((kept[next]?.[1] ?? Number.POSITIVE_INFINITY) <= position) next += 1;
    return (kept[next]?.[0] ?? Number.POSITIVE_INFINITY) <= position ? found : replacement(found);
  });
}

type Range = readonly [from: number, to: number];

const CODE: ReadonlySet<Nodes['type']> = new Set(['code', 'inlineCode']);
const ADDRESSES: ReadonlySet<Nodes['type']> = new Set([...CODE, 'definition', 'image', 'link']);

/**
 * Where code and web addresses stand, in order. What the parser takes for one of them no platform takes for text; what
 * only looks like an address (`https://example.com_@all` is none) is text to them.
 */
function keptIn(source: string, types: ReadonlySet<Nodes['type']>): Range[] {
  const ranges: Range[] = [];
  const keep = (from: number | undefined, node: Nodes): void => {
    const to = node.position?.end.offset;
    if (from !== undefined && to !== undefined) ranges.push([from, to]);
  };
  const walk = (node: Nodes): void => {
    if ('children' in node) for (const child of node.children) walk(child);
    if (!types.has(node.type)) return;
    const start = node.position?.start.offset;
    // Of `[label](address)` the label is text.
    const hasLabel = node.type === 'link' && source[start ?? 0] === '[';
    keep(hasLabel ? node.children.at(-1)?.position?.end.offset : start, node);
  };
  walk(fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }));
  return ranges.sort(([a], [b]) => a - b);
}

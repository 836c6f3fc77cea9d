import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { sectionsOf } from '../read/parse-sections.ts';
import { cutMarkdown } from './cut-markdown.ts';
import { limitOutput } from './output-limit.ts';

/** A zero-width space. With it, `@name` mentions nobody, and `![label](address)` is a link after a `!`. */
const ZERO_WIDTH_SPACE = '\u200b';
/**
 * `@`, or an entity that is shown as one, with no letter or digit before it: `me@example.com` is not a mention. What is shown
 * counts, not what is written. Platforms look for names in the rendered Markdown, so `_@all_`, `&#64;all`, `@&#97;ll` and, in
 * HTML, `&nbsp@all` are mentions too.
 */
const AT = /(?:(?<![a-z0-9])|(?<=&[a-z]{2,10}))(?:@|&#0*64;?|&#x0*40;?|&commat;)(?=[\p{L}\p{N}_&\\])/iu;
const AT_ALL = new RegExp(AT, 'giu');

/**
 * `![...]`, and HTML that shows or plays something. It is fetched as soon as somebody looks at it. A URL that a stranger made
 * the agent write would leak what it holds without a click (as a preview would: telegram.ts).
 */
const MEDIA = /!(?=\[)|<(?=(?:img|image|picture|source|video|audio|track|embed|object|iframe|svg)\b)/i;
const MEDIA_ALL = new RegExp(MEDIA, 'gi');

/**
 * Markdown that mentions nobody (`@all`, `@someone`, `@org/team` ping nobody) and shows no image (it becomes a link). Code and
 * web addresses stay as they are, unless the text is too long to parse.
 */
export function withoutMentions(source: string): string {
  return sectionsOf(withoutMedia(source))
    .map(({ text, parse }) => neutralizeAt(text, parse && AT.test(text) ? keptIn(text, ADDRESSES) : []))
    .join('');
}

function withoutMedia(source: string): string {
  if (!MEDIA.test(source)) return source;
  return sectionsOf(source)
    .map(({ text, parse }) => linksForMedia(text, parse && MEDIA.test(text) ? keptIn(text, CODE) : []))
    .join('');
}

function linksForMedia(text: string, kept: readonly Range[]): string {
  return outside(kept, text, MEDIA_ALL, (sign) => (sign === '<' ? '&lt;' : `!${ZERO_WIDTH_SPACE}`));
}

/** Space for what the second pass adds to the chunks. */
const SPARE = 64;

/** The same as chunks of at most `limit`. A cut through inline code turns its halves into text, so each chunk gets a second pass. */
export function chunksWithoutMentions(source: string, limit: number): readonly string[] {
  const limited = limitOutput(source);
  const harmless = (text: string) => ({ ...limited, text });
  const cut = cutMarkdown(harmless(withoutMentions(limited.text)), limit - SPARE);
  if (cut.length === 1) return cut;
  const chunks = cut.map(withoutMentions);
  if (chunks.every((chunk) => chunk.length <= limit)) return chunks;
  return cutMarkdown(harmless(neutralizeAt(linksForMedia(limited.text, []), [])), limit);
}

function neutralizeAt(text: string, kept: readonly Range[]): string {
  return outside(kept, text, AT_ALL, () => `@${ZERO_WIDTH_SPACE}`);
}

function outside(
  kept: readonly Range[],
  text: string,
  pattern: RegExp,
  replacement: (found: string) => string,
): string {
  let next = 0;
  return text.replace(pattern, (found: string, position: number) => {
    // Matches and ranges are both in order: each range is passed once.
    while ((kept[next]?.[1] ?? Number.POSITIVE_INFINITY) <= position) next += 1;
    return (kept[next]?.[0] ?? Number.POSITIVE_INFINITY) <= position ? found : replacement(found);
  });
}

type Range = readonly [from: number, to: number];

const CODE: ReadonlySet<Nodes['type']> = new Set(['code', 'inlineCode']);
const ADDRESSES: ReadonlySet<Nodes['type']> = new Set([...CODE, 'definition', 'image', 'link']);

/**
 * The ranges of code and web addresses, in order. No platform reads as text what the parser finds to be one of them. What only
 * looks like an address (`https://example.com_@all`) is text to them.
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
    // In `[label](address)`, the label is text.
    const hasLabel = node.type === 'link' && source[start ?? 0] === '[';
    keep(hasLabel ? node.children.at(-1)?.position?.end.offset : start, node);
  };
  walk(fromMarkdown(source, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }));
  return ranges.sort(([a], [b]) => a - b);
}

/**
 * A message as a flat list of blocks of styled text, between the Markdown that an agent writes and the markup of a platform.
 * It is flat so that it can be cut anywhere: each part renders to balanced markup by itself.
 */

export interface Style {
  readonly bold: boolean;
  readonly italic: boolean;
  readonly strike: boolean;
  readonly code: boolean;
  /** A web or mail address. Other addresses are written in the text. */
  readonly link: string | null;
}

export const PLAIN_STYLE: Style = { bold: false, italic: false, strike: false, code: false, link: null };

export interface Span {
  readonly text: string;
  readonly style: Style;
}

interface Position {
  /** How many lists contain it, minus one. */
  readonly indent: number;
  /** How many quotes contain it. */
  readonly quote: number;
  /** It follows the block before it without an empty line. */
  readonly tight: boolean;
}

export interface TextBlock extends Position {
  readonly kind: 'text';
  readonly spans: readonly Span[];
  /** 1 to 6; 0: not a heading. */
  readonly heading: number;
  /** The sign before the first line of a list item. */
  readonly marker: Marker | null;
  /** In a list item, but not its first block: indented like the item's text. */
  readonly hanging: boolean;
}

interface CodeBlock extends Position {
  readonly kind: 'code';
  readonly language: string;
  readonly text: string;
}

export type Marker = { readonly kind: 'bullet' } | { readonly kind: 'number'; readonly number: number };
export type Block = TextBlock | CodeBlock;

export function textOf(block: Block): string {
  return block.kind === 'code' ? block.text : block.spans.map(({ text }) => text).join('');
}

/** The part of the block from `from` to `to` (UTF-16 units), with its style and position. */
export function partOf(block: Block, from: number, to: number): Block {
  // A continuation is not a new item, and it is not tight.
  if (block.kind === 'code')
    return { ...block, text: block.text.slice(from, to), tight: from === 0 && block.tight };
  const spans: Span[] = [];
  let at = 0;
  for (const span of block.spans) {
    if (at >= to) break;
    const text = span.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text !== '') spans.push({ ...span, text });
    at += span.text.length;
  }
  const first = from === 0;
  return {
    ...block,
    spans,
    marker: first ? block.marker : null,
    hanging: block.hanging || (!first && block.marker !== null),
    tight: first && block.tight,
  };
}

/** Joins neighbours of the same style and drops empty spans. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (span.text === '') continue;
    if (last && sameStyle(last.style, span.style))
      merged[merged.length - 1] = { ...last, text: last.text + span.text };
    else merged.push(span);
  }
  return merged;
}

function sameStyle(a: Style, b: Style): boolean {
  return (
    a.bold === b.bold &&
    a.italic === b.italic &&
    a.strike === b.strike &&
    a.code === b.code &&
    a.link === b.link
  );
}

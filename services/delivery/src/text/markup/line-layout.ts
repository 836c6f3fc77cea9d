import type { Block, TextBlock } from '../read/document.ts';
import { showsAddress, writtenOut } from '../read/read-markdown.ts';

/** How list items and quotes are laid out in lines, shared by the platforms' markups. */

/** The depth of a list item, plus the width of `• ` for the lines under it. */
export function indentOf(block: TextBlock): string {
  return '  '.repeat(block.indent + (block.marker !== null || block.hanging ? 1 : 0));
}

/** The beginning of the first line. */
export function itemStart(block: TextBlock, bullet: string): string {
  if (block.marker === null) return indentOf(block);
  const sign = block.marker.kind === 'bullet' ? bullet : `${block.marker.number}.`;
  return `${'  '.repeat(block.indent)}${sign} `;
}

/** `> ` before every line. */
export function quoted(text: string, depth = 1): string {
  if (depth === 0) return text;
  const start = '> '.repeat(depth);
  return start + text.replaceAll('\n', `\n${start}`);
}

/** Writes a block without markup. `neutralize` removes mentions, except in addresses, which it would break. */
export function writePlain(block: Block, neutralize: (text: string) => string): string {
  if (block.kind === 'code') return quoted(neutralize(block.text), block.quote);
  const spans = block.spans.map((span) =>
    span.style.link !== null && showsAddress(span.text, span.style.link)
      ? span
      : { ...span, text: neutralize(span.text) },
  );
  const text = writtenOut(spans).replaceAll('\n', `\n${indentOf(block)}`);
  return quoted(itemStart(block, '•') + text, block.quote);
}

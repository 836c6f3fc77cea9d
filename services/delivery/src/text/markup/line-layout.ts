import type { Block, TextBlock } from '../read/document.ts';
import { showsAddress, writtenOut } from '../read/read-markdown.ts';

/** What the platforms' markups share: how list items and quotes lie in lines. */

/** A list item's depth, and the width of `• ` for what stands under it. */
export function indentOf(block: TextBlock): string {
  return '  '.repeat(block.indent + (block.marker !== null || block.hanging ? 1 : 0));
}

/** What the first line begins with. */
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

/** Without any markup. `harmless` takes the mentions out of it, except in addresses, which would lead elsewhere then. */
export function writePlain(block: Block, harmless: (text: string) => string): string {
  if (block.kind === 'code') return quoted(harmless(block.text), block.quote);
  const spans = block.spans.map((span) =>
    span.style.link !== null && showsAddress(span.text, span.style.link)
      ? span
      : { ...span, text: harmless(span.text) },
  );
  const text = writtenOut(spans).replaceAll('\n', `\n${indentOf(block)}`);
  return quoted(itemStart(block, '•') + text, block.quote);
}

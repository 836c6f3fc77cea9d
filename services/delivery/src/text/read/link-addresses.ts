import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { sectionsOf } from './parse-sections.ts';

/** The addresses of all links and images that are written with their address, in order. Code has none. */
export function linkAddresses(source: string): string[] {
  const addresses: string[] = [];
  const collect = (node: Nodes): void => {
    if (node.type === 'link' || node.type === 'image') addresses.push(node.url);
    if ('children' in node) for (const child of node.children) collect(child);
  };
  for (const { text, parse } of sectionsOf(source)) {
    if (!parse || !text.includes('](')) continue;
    try {
      collect(fromMarkdown(text));
    } catch (error) {
      // Nested deeper than the stack allows: it is shown as it is written (readMarkdown).
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return addresses;
}

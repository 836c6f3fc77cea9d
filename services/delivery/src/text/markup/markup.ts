import type { Block } from '../read/document.ts';

/** How a platform writes a block. Pure. The markup of each block is balanced. */
export interface Markup {
  block(block: Block): string;
  /** The same without markup, if the platform refuses it. Left out where that cannot happen. */
  plain?(block: Block): string;
}

/** How a platform counts the length of a message. All are additive over concatenation. */
export type Measure = (text: string) => number;

export const utf16Units: Measure = (text) => text.length;
export const utf8Bytes: Measure = (text) => Buffer.byteLength(text, 'utf8');

/** Joins blocks, with an empty line between them unless they are tight. */
export function joinBlocks(blocks: readonly Block[], write: (block: Block) => string): string {
  return blocks.map((block, index) => (index === 0 ? '' : separatorBefore(block)) + write(block)).join('');
}

export function separatorBefore(block: Block): string {
  return block.tight ? '\n' : '\n\n';
}

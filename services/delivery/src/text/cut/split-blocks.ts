import { separatorBefore } from '../markup/markup.ts';
import { type Block, partOf, textOf } from '../read/document.ts';
import { cutCode, cutProse } from './cut-position.ts';

/** A block longer than a message begins in the current message only if at least this share of that is free. */
const WORTH_BEGINNING = 0.25;

/**
 * Packs blocks into messages of at most `limit`. It cuts between blocks, and inside a block only if that is longer than a
 * whole message. `sizeOf` is the block's length as written. It stops after `max` + 1 messages: the last one says that there
 * are more.
 */
export function splitBlocks(
  blocks: readonly Block[],
  limit: number,
  sizeOf: (block: Block) => number,
  max: number,
): Block[][] {
  const messages: Block[][] = [];
  let message: Block[] = [];
  let used = 0;
  const gapBefore = (block: Block) => (message.length === 0 ? 0 : separatorBefore(block).length);
  const put = (block: Block, size: number) => {
    used += gapBefore(block) + size;
    message.push(block);
  };
  const finish = () => {
    if (message.length > 0) messages.push(message);
    message = [];
    used = 0;
  };

  for (const block of blocks) {
    let rest: Block | null = block;
    while (rest !== null) {
      if (messages.length > max) return messages;
      // A written block is at least as long as its text. So a block of a megabyte is not written again for each message.
      const size = textOf(rest).length > limit ? Number.POSITIVE_INFINITY : sizeOf(rest);
      if (used + gapBefore(rest) + size <= limit) {
        put(rest, size);
        break;
      }
      const room = limit - used - gapBefore(rest);
      const text = message.findLastIndex((one) => !isHeading(one)) + 1;
      if (message.length > 0 && ((size <= limit && text > 0) || room < limit * WORTH_BEGINNING)) {
        // A heading goes with its text.
        const headings = text > 0 ? message.splice(text) : [];
        finish();
        for (const heading of headings) put(heading, sizeOf(heading));
        continue;
      }
      const [head, tail]: [Block, Block | null] = cutBlock(rest, room, sizeOf);
      put(head, sizeOf(head));
      finish();
      rest = tail;
    }
  }
  finish();
  return messages.slice(0, max + 1);
}

function isHeading(block: Block): boolean {
  return block.kind === 'text' && block.heading > 0;
}

/** The longest beginning of the block that fits, and the rest. */
function cutBlock(block: Block, room: number, sizeOf: (block: Block) => number): [Block, Block | null] {
  const text = textOf(block);
  let fits = longestFitting(block, Math.min(text.length, room), room, sizeOf);
  for (;;) {
    const { end, next } = block.kind === 'code' ? cutCode(text, fits) : cutProse(text, fits);
    const head = partOf(block, 0, end);
    // The written length is not quite monotonic (a style that ends before a space costs nothing there): check and step back.
    if (sizeOf(head) <= room || end <= 1) {
      if (next >= text.length) return [head, null];
      // Take at least one code point, or this would never end.
      const safeNext = next > 0 ? next : (text.codePointAt(0) ?? 0) > 0xffff ? 2 : 1;
      return [next > 0 ? head : partOf(block, 0, safeNext), partOf(block, safeNext, text.length)];
    }
    fits = end - 1;
  }
}

function longestFitting(block: Block, max: number, room: number, sizeOf: (block: Block) => number): number {
  let low = 0;
  let high = max;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(partOf(block, 0, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return low;
}

import { joinBlocks, type Markup, type Measure } from '../markup/markup.ts';
import { type Block, textOf } from '../read/document.ts';
import { readMarkdown } from '../read/read-markdown.ts';
import { type Chunk, DUPLICATE_MARK } from './chunk.ts';
import { cutNotice, limitOutput, MAX_MESSAGES } from './output-limit.ts';
import { splitBlocks } from './split-blocks.ts';

interface ChunkLimits {
  /** The longest message, as the platform counts it. */
  readonly limit: number;
  readonly measure: Measure;
}

/** Sent for a message that shows nothing: platforms refuse empty messages, and silence would look like a loss. */
export const NOTHING_TO_SHOW = '(empty message)';

/**
 * Renders Markdown as chunks that a platform takes: in its markup, cut by its limit, numbered `(1/3)`, and within
 * output-limit.ts. It leaves room for the mark of a possible duplicate. The same text always gives the same chunks.
 */
export function renderChunks(
  source: string,
  markup: Markup,
  { limit, measure }: ChunkLimits,
): readonly Chunk[] {
  const { text, end, characters } = limitOutput(source);
  const blocks = readMarkdown(text);
  const shown = blocks.some(isVisible) ? blocks : readMarkdown(NOTHING_TO_SHOW);
  return packBlocks(
    [...shown, ...end],
    markup,
    { limit: limit - measure(DUPLICATE_MARK), measure },
    characters,
  );
}

/** `characters`: the length of the whole text, for a reader who gets only a part of it. */
export function packBlocks(
  blocks: readonly Block[],
  markup: Markup,
  { limit, measure }: ChunkLimits,
  characters: number,
): readonly Chunk[] {
  const sizeOf = (block: Block): number =>
    Math.max(measure(markup.block(block)), markup.plain ? measure(markup.plain(block)) : 0);
  const split = (room: number, most: number) => splitBlocks(blocks, room, sizeOf, most);
  // More than this need not be counted yet.
  const whole = split(limit, 9);
  if (whole.length <= 1) return [chunkOf(whole[0] ?? [], '', markup)];
  // The length of the numbering depends on the number of messages.
  for (let most = 9; ; most = most * 10 + 9) {
    if (whole.length > most) continue;
    const messages = split(limit - measure(numbering(most, most)), Math.min(most, MAX_MESSAGES));
    if (messages.length > MAX_MESSAGES) {
      messages.splice(MAX_MESSAGES - 1, 2, [cutNotice(`${MAX_MESSAGES} messages`, characters)]);
    }
    if (messages.length > most) continue;
    return messages.map((message, index) => chunkOf(message, numbering(index + 1, messages.length), markup));
  }
}

function chunkOf(blocks: readonly Block[], suffix: string, markup: Markup): Chunk {
  const text = joinBlocks(blocks, markup.block) + suffix;
  return markup.plain ? { text, plain: joinBlocks(blocks, markup.plain) + suffix } : { text };
}

/** On a line of its own, because a code block or a quote may come before it. */
function numbering(index: number, count: number): string {
  return `\n\n(${index}/${count})`;
}

function isVisible(block: Block): boolean {
  return (block.kind === 'text' && block.marker !== null) || /[^\s\p{Cf}\p{Cc}]/u.test(textOf(block));
}

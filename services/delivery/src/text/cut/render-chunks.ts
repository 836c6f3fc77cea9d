import { joinBlocks, type Markup, type Measure } from '../markup/markup.ts';
import { type Block, textOf } from '../read/document.ts';
import { readMarkdown } from '../read/read-markdown.ts';
import { type Chunk, DUPLICATE_MARK } from './chunk.ts';
import { cutNotice, MAX_MESSAGES, withinLimit } from './output-limit.ts';
import { splitBlocks } from './split-blocks.ts';

export interface ChunkLimits {
  /** At most so long is one message, as the platform counts it. */
  readonly limit: number;
  readonly measure: Measure;
}

/** What is sent for a message that shows nothing: platforms refuse empty ones, and silence would look like a loss. */
export const NOTHING_TO_SHOW = '(empty message)';

/**
 * Markdown as the chunks that a platform takes: written in its markup, cut by its limit, numbered `(1/3)`, and no more
 * of it than most-sent.ts says. Room is left for the mark of a possible duplicate. The same text gives the same chunks,
 * always.
 */
export function renderChunks(
  source: string,
  markup: Markup,
  { limit, measure }: ChunkLimits,
): readonly Chunk[] {
  const { text, end, characters } = withinLimit(source);
  const blocks = readMarkdown(text);
  const shown = blocks.some(isVisible) ? blocks : readMarkdown(NOTHING_TO_SHOW);
  return packBlocks(
    [...shown, ...end],
    markup,
    { limit: limit - measure(DUPLICATE_MARK), measure },
    characters,
  );
}

/** `characters`: how many the whole text has, for the one who gets only a part of it. */
export function packBlocks(
  blocks: readonly Block[],
  markup: Markup,
  { limit, measure }: ChunkLimits,
  characters: number,
): readonly Chunk[] {
  const sizeOf = (block: Block): number =>
    Math.max(measure(markup.block(block)), markup.plain ? measure(markup.plain(block)) : 0);
  const split = (room: number, most: number) => splitBlocks(blocks, room, sizeOf, most);
  // Further than this nobody looks at it.
  const whole = split(limit, 9);
  if (whole.length <= 1) return [chunkOf(whole[0] ?? [], '', markup)];
  // How long the numbers are depends on how many there are.
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

/** On a line of its own: a code block or a quote may come before it. */
function numbering(index: number, count: number): string {
  return `\n\n(${index}/${count})`;
}

function isVisible(block: Block): boolean {
  return (block.kind === 'text' && block.marker !== null) || /[^\s\p{Cf}\p{Cc}]/u.test(textOf(block));
}

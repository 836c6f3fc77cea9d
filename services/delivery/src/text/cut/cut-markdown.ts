import { type Markup, utf16Units } from '../markup/markup.ts';
import type { Block } from '../read/document.ts';
import { readSource } from '../read/read-markdown.ts';
import type { LimitedOutput } from './output-limit.ts';
import { NOTHING_TO_SHOW, packBlocks } from './render-chunks.ts';

/**
 * For platforms that render Markdown themselves. A text that fits stays as written. A longer one is cut between paragraphs,
 * with code fences closed and reopened, numbered `(1/3)`.
 */
export function cutMarkdown(
  { text: source, end, characters }: LimitedOutput,
  limit: number,
): readonly string[] {
  const text = source.toWellFormed();
  const isEmpty = !/[^\s\p{Cf}\p{Cc}]/u.test(text);
  if (end.length === 0) {
    if (isEmpty) return [NOTHING_TO_SHOW];
    if (utf16Units(text) <= limit) return [text];
  }
  const blocks = readSource(isEmpty ? NOTHING_TO_SHOW : text);
  return packBlocks([...blocks, ...end], asWritten, { limit, measure: utf16Units }, characters).map(
    (chunk) => chunk.text,
  );
}

const asWritten: Markup = {
  block(block: Block) {
    if (block.kind === 'text') return block.spans.map((span) => span.text).join('');
    // A fence must be longer than any run of backticks inside.
    let longest = 2;
    for (const [run] of block.text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
    const fence = '`'.repeat(longest + 1);
    return `${fence}${block.language}\n${block.text}\n${fence}`;
  },
};

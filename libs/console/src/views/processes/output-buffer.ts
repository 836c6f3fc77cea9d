import type { ProcessOutput } from '../../api/calls/process-calls.ts';

/** What is shown of the output. Parts are added at the end; what is too old is dropped at the beginning. */
export interface OutputBuffer {
  readonly text: string;
  /** Where to read on; null: nothing was read yet. */
  readonly next: number | null;
  /** True: the beginning of the output is not shown. */
  readonly cut: boolean;
}

export const EMPTY_OUTPUT: OutputBuffer = { text: '', next: null, cut: false };

/** About a megabyte: more takes a browser seconds to lay out. */
export const MOST_SHOWN = 1_000_000;

export function withPart(
  buffer: OutputBuffer,
  { offset, next_offset, output }: Pick<ProcessOutput, 'offset' | 'next_offset' | 'output'>,
): OutputBuffer {
  // Output that was dropped before it could be read leaves a gap: then the new part stands alone.
  const gap = buffer.next !== null && offset !== buffer.next;
  const whole = gap ? output : buffer.text + output;
  const text = whole.length > MOST_SHOWN ? fromLineStart(whole.slice(-MOST_SHOWN)) : whole;
  return {
    text,
    next: next_offset,
    cut: buffer.cut || gap || text.length < whole.length || (buffer.next === null && offset > 0),
  };
}

function fromLineStart(text: string): string {
  const newline = text.indexOf('\n');
  return newline === -1 ? text : text.slice(newline + 1);
}

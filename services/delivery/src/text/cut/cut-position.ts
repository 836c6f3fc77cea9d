const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** A longer "character" is noise (endless combining marks) and is cut between code points. */
const MAX_GRAPHEME = 200;

/**
 * The last position at or before `at` (UTF-16 units) that splits no character as a person sees it: no surrogate pair, flag,
 * family, or letter with its accent. 0 if there is none.
 */
export function characterBoundary(text: string, at: number): number {
  if (at >= text.length) return text.length;
  if (at <= 0) return 0;
  // Not the whole text: it may be very long, and each cut would scan all of it.
  const { index } = graphemes.segment(text.slice(0, at + MAX_GRAPHEME)).containing(at) ?? { index: at };
  return index > 0 && at - index <= MAX_GRAPHEME ? index : wholeCodePoints(text, at);
}

function wholeCodePoints(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  const isPair = before >= 0xd800 && before <= 0xdbff;
  return isPair ? at - 1 : at;
}

/** A cut further back than this share of what fits would leave a message half empty for a nicer end. */
const EARLIEST_SHARE = 0.5;

interface Cut {
  /** The first part ends here and the second begins at `next`. The white space between them is dropped. */
  readonly end: number;
  readonly next: number;
}

/** Where to cut prose if `fits` units fit: after a paragraph, a line, a sentence, a word or a character. */
export function cutProse(text: string, fits: number): Cut {
  const earliest = Math.floor(fits * EARLIEST_SHARE);
  const head = text.slice(0, fits + 1);
  for (const pattern of [/\n\s*\n/g, /\n/g, /(?<=[.!?…。！？])\s+/g, /\s+/g]) {
    const cut = lastMatch(head, pattern, earliest, fits);
    if (cut) return cut;
  }
  const end = characterBoundary(text, fits);
  return { end, next: end };
}

/** Where to cut code: after a line. The next line keeps its indentation. */
export function cutCode(text: string, fits: number): Cut {
  const newline = text.lastIndexOf('\n', fits);
  if (newline > 0) return { end: newline, next: newline + 1 };
  const end = characterBoundary(text, fits);
  return { end, next: end };
}

function lastMatch(head: string, pattern: RegExp, earliest: number, fits: number): Cut | null {
  let found: Cut | null = null;
  for (const match of head.matchAll(pattern)) {
    const end = match.index;
    if (end > fits) break;
    if (end >= earliest && end > 0) found = { end, next: end + match[0].length };
  }
  return found;
}

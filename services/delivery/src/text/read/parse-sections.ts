/**
 * A long text cut into parts that can be parsed each for itself. The parser's time grows faster than the length of what
 * it is given (8,000 characters of `*a_` take 0.2 s, 60,000 more than 8 s; 4,000 of `a\n=\n`, each a heading, 0.2 s), and
 * what an agent writes may be a stranger's wish: one message must not stop the deliveries of all others.
 */
export interface Section {
  readonly text: string;
  /** Else it is too much in one chunk, or too tangled: it is shown as it was written. */
  readonly parse: boolean;
}

/** A part ends at the first place after this. A code block that is longer is a part of its own, which costs little. */
const SECTION = 4_000;
/** The same for a text of short lines: each may be a block of its own. */
const SECTION_LINES = 400;
/** Without a place to end at up to here it is not parsed. */
const MAX_PARSED = 12_000;
/** The same for everything together: a second's work. */
const MAX_IN_ALL = 128 * 1024;
/** Signs of a style, in a row or alone, cost the most: 8,000 of them in the worst order another second. */
const MAX_SIGNS = 8_000;
/** The same in one part, where each is compared with those before it. */
const MAX_SIGNS_OF_PART = 1_500;
/** A line that is a block of its own costs the parser 0.05 to 0.1 ms, and some are compared with all before them in the part. */
const MAX_LINES_OF_PART = 600;
const MAX_LINES = 4_000;
/** Of one code block. A line of code costs the parser a fifth of another one. */
const MAX_LINES_OF_CODE = 10_000;
/** Quotes in quotes and lists in lists deeper than this, in one line; and signs of a style in a row. */
const TANGLED = /^(?:[ \t]*(?:>|[-+*][ \t]|\d+[.)][ \t])){17}|([*_~])\1{39}/m;
const LINE_END = /\r\n|[\n\r]/g;
/** Not indented: whatever came before it ends there. */
const FENCE = /^(?:(`{3,})[^`\n]*|(~{3,}).*)$/;

/** Together they are the text. A part begins with a line that is not indented, after an empty one. */
export function sectionsOf(text: string): Section[] {
  if (text.length > MAX_IN_ALL) return [{ text, parse: false }];
  const sections: Section[] = [];
  let start = 0;
  let signs = 0;
  let lines = 0;
  let linesHere = 0;
  let fence: { readonly marks: string; readonly at: number } | null = null;
  let afterEmpty = false;
  const isParsed = (part: string): boolean => {
    const own = { signs: countOf(part, /[*_~]+/g), lines: countOf(part, LINE_END) };
    signs += own.signs;
    lines += own.lines;
    return (
      part.length <= MAX_PARSED &&
      own.signs <= MAX_SIGNS_OF_PART &&
      signs <= MAX_SIGNS &&
      own.lines <= MAX_LINES_OF_PART &&
      lines <= MAX_LINES &&
      !TANGLED.test(part)
    );
  };
  const finish = (end: number, isCode: boolean) => {
    if (end === start) return;
    const part = text.slice(start, end);
    const parse = isCode ? countOf(part, LINE_END) <= MAX_LINES_OF_CODE : isParsed(part);
    sections.push({ text: part, parse });
    start = end;
    linesHere = 0;
  };
  const finishCode = (from: number, end: number) => {
    if (end - from <= SECTION) return;
    finish(from, false);
    finish(end, true);
  };

  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const next = newline === -1 ? text.length : newline + 1;
    const line = text.slice(at, next).trimEnd();
    if (fence !== null) {
      const marks = line.trimStart();
      if (marks.startsWith(fence.marks) && /^(`+|~+)$/.test(marks) && line.length - marks.length <= 3) {
        finishCode(fence.at, next);
        fence = null;
      }
    } else {
      const isLong = at - start >= SECTION || linesHere >= SECTION_LINES;
      if (isLong && afterEmpty && /^\S/.test(line)) finish(at, false);
      const opened = FENCE.exec(line);
      if (opened) fence = { marks: opened[1] ?? opened[2] ?? '', at };
    }
    linesHere += 1;
    afterEmpty = line === '';
    at = next;
  }
  if (fence !== null) finishCode(fence.at, text.length);
  finish(text.length, false);
  return sections;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

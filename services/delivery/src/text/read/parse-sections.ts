/**
 * A part of a long text that can be parsed by itself. The parser's time grows faster than the length of its input (8,000
 * characters of `*a_` take 0.2 s, 60,000 more than 8 s; 4,000 of `a\n=\n`, each a heading, 0.2 s). A stranger may decide what
 * an agent writes, and one message must not stop all other deliveries.
 */
interface Section {
  readonly text: string;
  /** False: it is too long or too tangled to parse, and is shown as written. */
  readonly parse: boolean;
}

/** A section ends at the first possible position after this. A longer code block is its own section, which costs little. */
const SECTION = 4_000;
/** The same for a text of short lines, each of which may be a block. */
const SECTION_LINES = 400;
/** A section longer than this is not parsed. */
const MAX_PARSED = 12_000;
/** The same for the whole text: about a second of work. */
const MAX_IN_ALL = 128 * 1024;
/** Style signs (`*`, `_`, `~`) cost the most: 8,000 of them in the worst order take another second. */
const MAX_SIGNS = 8_000;
/** The same in one section, where each is compared with those before it. */
const MAX_SECTION_SIGNS = 1_500;
/** A line that is its own block costs the parser 0.05 to 0.1 ms. Some are compared with all lines before them in the section. */
const MAX_SECTION_LINES = 600;
const MAX_LINES = 4_000;
/** Of one code block. A line of code costs the parser a fifth of another line. */
const MAX_CODE_LINES = 10_000;
/** Quotes and lists nested deeper than this in one line, or this many style signs in a row. */
const TANGLED = /^(?:[ \t]*(?:>|[-+*][ \t]|\d+[.)][ \t])){17}|([*_~])\1{39}/m;
const LINE_END = /\r\n|[\n\r]/g;
/** Not indented, so everything before it ends there. */
const FENCE = /^(?:(`{3,})[^`\n]*|(~{3,}).*)$/;

/** Joined, the sections are the text. A section begins with a line that is not indented and follows an empty line. */
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
      own.signs <= MAX_SECTION_SIGNS &&
      signs <= MAX_SIGNS &&
      own.lines <= MAX_SECTION_LINES &&
      lines <= MAX_LINES &&
      !TANGLED.test(part)
    );
  };
  const finish = (end: number, isCode: boolean) => {
    if (end === start) return;
    const part = text.slice(start, end);
    const parse = isCode ? countOf(part, LINE_END) <= MAX_CODE_LINES : isParsed(part);
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

/**
 * A long text cut into parts that can be parsed each for itself. The parser's time grows faster than the length of what
 * it is given (8,000 characters of `*a_` take 0.2 s, 60,000 more than 8 s), and what an agent writes may be a
 * stranger's wish: one message must not stop the deliveries of all others.
 */
export interface Section {
  readonly text: string;
  /** Else it is too much in one piece, or too tangled: it is shown as it was written. */
  readonly parse: boolean;
}

/** A part ends at the first place after this. A code block that is longer is a part of its own, which costs little. */
const SECTION = 4_000;
/** Without a place to end at up to here it is not parsed. */
const MOST_PARSED = 12_000;
/** The same for everything together: a second's work. */
const MOST_IN_ALL = 128 * 1024;
/** Signs of a style, in a row or alone, cost the most: 8,000 of them in the worst order another second. */
const MOST_SIGNS = 8_000;
/** Quotes in quotes and lists in lists deeper than this, in one line; and signs of a style in a row. */
const TANGLED = /^(?:[ \t]*(?:>|[-+*][ \t]|\d+[.)][ \t])){17}|([*_~])\1{39}/m;
/** Not indented: whatever came before it ends there. */
const FENCE = /^(?:(`{3,})[^`\n]*|(~{3,}).*)$/;

/** Together they are the text. A part begins with a line that is not indented, after an empty one. */
export function sectionsOf(text: string): Section[] {
  if (text.length > MOST_IN_ALL) return [{ text, parse: false }];
  const sections: Section[] = [];
  let start = 0;
  let signs = 0;
  let fence: { readonly marks: string; readonly at: number } | null = null;
  let afterEmpty = false;
  const finish = (end: number, isCode: boolean) => {
    if (end === start) return;
    const part = text.slice(start, end);
    if (!isCode) signs += part.match(/[*_~]+/g)?.length ?? 0;
    const parse = isCode || (part.length <= MOST_PARSED && signs <= MOST_SIGNS && !TANGLED.test(part));
    sections.push({ text: part, parse });
    start = end;
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
      if (at - start >= SECTION && afterEmpty && /^\S/.test(line)) finish(at, false);
      const opened = FENCE.exec(line);
      if (opened) fence = { marks: opened[1] ?? opened[2] ?? '', at };
    }
    afterEmpty = line === '';
    at = next;
  }
  if (fence !== null) finishCode(fence.at, text.length);
  finish(text.length, false);
  return sections;
}

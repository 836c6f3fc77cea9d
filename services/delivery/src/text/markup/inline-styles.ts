import type { Span, Style } from '../read/document.ts';
import { showsAddress } from '../read/read-markdown.ts';

export type Mark = 'bold' | 'italic' | 'strike';

/** How a platform marks text within a line. */
export interface InlineMarkup {
  open(mark: Mark): string;
  close(mark: Mark): string;
  /** Escapes what the platform could read as markup or as a mention. */
  text(text: string): string;
  code(text: string): string;
  link(url: string, written: string): string;
  /** An address whose label is the address itself. */
  address(text: string, url: string): string;
  /** Marks end at the end of the line (Slack). */
  readonly marksEndWithLine: boolean;
  /** May a mark begin or end beside this character? If not, the text stays unmarked, without stray signs. */
  mayStandBeside(character: string): boolean;
}

/** Outermost first, so that a style over several spans is opened once. */
const MARKS: readonly Mark[] = ['bold', 'strike', 'italic'];

/**
 * Writes spans as nested markup. White space at the edges of a style is put outside it: `** bold **` is bold only in HTML.
 */
export function writeSpans(
  spans: readonly Span[],
  markup: InlineMarkup,
  without: readonly Mark[] = [],
): string {
  let written = '';
  let pending = '';
  let open: Mark[] = [];
  const parts = markup.marksEndWithLine ? groupLinks(spans).flatMap(linesOf) : groupLinks(spans);

  const closeTo = (kept: number) => {
    for (const mark of open.slice(kept).reverse()) written += markup.close(mark);
    open = open.slice(0, kept);
  };

  parts.forEach((part, index) => {
    const core = part.text.trim();
    if (core === '') {
      pending += part.text;
      return;
    }
    const lead = part.text.slice(0, part.text.indexOf(core));
    const trail = part.text.slice(lead.length + core.length);
    pending += lead;
    const before = pending.at(-1) ?? parts[index - 1]?.text.at(-1) ?? ' ';
    const after = trail[0] ?? parts[index + 1]?.text[0] ?? ' ';
    const wanted = marksOf(part.style).filter((mark) => !without.includes(mark));
    let kept = 0;
    while (kept < wanted.length && wanted[kept] === open[kept]) kept++;
    if (markup.marksEndWithLine && pending.includes('\n')) kept = 0;
    closeTo(kept);
    written += pending;
    pending = trail;
    const opened = markup.mayStandBeside(before) && markup.mayStandBeside(after) ? wanted.slice(kept) : [];
    // Marks that stay open were checked before. A new mark between word characters is left out.
    for (const mark of opened) written += markup.open(mark);
    open = [...open, ...opened];
    written += writeCore(part, core, markup);
  });
  closeTo(0);
  return written + pending;
}

interface Part {
  readonly text: string;
  readonly style: Style;
}

/** The label of a link is one part, whatever its styles: no platform nests styles in links reliably. */
function groupLinks(spans: readonly Span[]): Part[] {
  const parts: Part[] = [];
  for (const { text, style } of spans) {
    const last = parts.at(-1);
    if (last && style.link !== null && last.style.link === style.link) {
      parts[parts.length - 1] = { text: last.text + text, style: last.style };
    } else {
      parts.push({ text, style });
    }
  }
  return parts;
}

/**
 * Separates line breaks, so that they count as white space between marks. The label of a link ends up without line breaks, and
 * a part without marks needs no separation: a log of thousands of short lines is not written line by line.
 */
function linesOf(part: Part): Part[] {
  const { code, link } = part.style;
  if (link !== null || (!code && marksOf(part.style).length === 0)) return [part];
  return part.text.split(/(\n+)/).map((text) => ({ text, style: part.style }));
}

function marksOf(style: Style): Mark[] {
  // Code takes no other style: Telegram forbids it, and elsewhere code matters more.
  if (style.code && style.link === null) return [];
  return MARKS.filter((mark) => style[mark]);
}

function writeCore({ style }: Part, core: string, markup: InlineMarkup): string {
  const { link } = style;
  if (link !== null) {
    return showsAddress(core, link)
      ? markup.address(core, link)
      : markup.link(link, markup.text(inOneLine(core)));
  }
  return style.code ? markup.code(core) : markup.text(core);
}

/** Splits by lines. A pattern for white space around a line break would backtrack over long rows of blanks. */
function inOneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

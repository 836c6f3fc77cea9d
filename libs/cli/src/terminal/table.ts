import type { Style, Tone } from './style.ts';
import { cut, displayWidth, padEnd, padStart } from './width.ts';

export interface Column<Row> {
  readonly head: string;
  readonly text: (row: Row) => string;
  readonly tone?: (row: Row) => Tone;
  /** May be shortened to fit. Ids are never shortened, because people copy them (seed 000). */
  readonly flexible?: true;
  readonly right?: true;
  /** Columns with the highest number are left out first if a table is too wide. One without a number always stays. */
  readonly dropped?: number;
  /** Only with `-o wide`. */
  readonly wide?: true;
}

/** A shorter text says nothing. */
const NARROWEST = 10;
const GAP = '  ';

/**
 * Fits the rows to the width, because a wrapped table cannot be read: leaves out columns, then shortens flexible ones, the
 * widest first.
 */
export function table<Row>(
  rows: readonly Row[],
  all: readonly Column<Row>[],
  { width, wide = false, style }: { readonly width: number; readonly wide?: boolean; readonly style: Style },
): string {
  const columns = fitting(
    rows,
    all.filter((column) => wide || column.wide !== true),
    width,
  );
  const cells = rows.map((row) => columns.map((column) => oneLine(column.text(row))));
  const widths = columns.map((column) => widthOf(rows, column));
  let tooWide = totalOf(widths) - width;
  while (tooWide > 0) {
    const widest = columns.reduce<number | null>((best, { flexible }, index) => {
      const here = widths[index] ?? 0;
      if (flexible !== true || here <= NARROWEST) return best;
      return best === null || here > (widths[best] ?? 0) ? index : best;
    }, null);
    if (widest === null) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    tooWide -= 1;
  }
  const line = (texts: readonly string[], tones: readonly Tone[]): string =>
    texts
      .map((text, index) => {
        const room = widths[index] ?? 0;
        const fitted = columns[index]?.flexible === true ? cut(text, room) : text;
        const last = index === texts.length - 1;
        const padded =
          columns[index]?.right === true ? padStart(fitted, room) : last ? fitted : padEnd(fitted, room);
        return style(tones[index] ?? 'plain', padded);
      })
      .join(GAP)
      .trimEnd();
  return [
    line(
      columns.map(({ head }) => head),
      columns.map(() => 'dim'),
    ),
    ...cells.map((texts, row) =>
      line(
        texts,
        columns.map(({ tone }) => tone?.(rows[row] as Row) ?? 'plain'),
      ),
    ),
  ].join('\n');
}

/** The columns that fit if every flexible one is as narrow as it can be. */
function fitting<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number,
): readonly Column<Row>[] {
  const widths = columns.map((column) => {
    const whole = widthOf(rows, column);
    return column.flexible === true ? Math.min(whole, NARROWEST) : whole;
  });
  if (totalOf(widths) <= width) return columns;
  const last = Math.max(...columns.map(({ dropped }) => dropped ?? 0));
  if (last === 0) return columns;
  return fitting(
    rows,
    columns.filter(({ dropped }) => dropped !== last),
    width,
  );
}

function widthOf<Row>(rows: readonly Row[], { head, text }: Column<Row>): number {
  return rows.reduce((most, row) => Math.max(most, displayWidth(oneLine(text(row)))), displayWidth(head));
}

function totalOf(widths: readonly number[]): number {
  return sum(widths) + GAP.length * (widths.length - 1);
}

/** `name  value` lines. Values are never shortened; their further lines are indented. */
export function fields(
  pairs: readonly (readonly [name: string, value: string, tone?: Tone])[],
  style: Style,
): string {
  const room = Math.max(...pairs.map(([name]) => displayWidth(name)));
  return pairs
    .map(([name, value, tone]) => {
      const indented = value.replaceAll('\n', `\n${' '.repeat(room)}${GAP}`);
      return `${style('dim', padEnd(name, room))}${GAP}${style(tone ?? 'plain', indented)}`.trimEnd();
    })
    .join('\n');
}

export function oneLine(text: string): string {
  return text
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('\t', ' ')
    .trim();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

import { type AnyInstrument, labelInPrometheus } from './instruments.ts';

/** Marks around the table in docs/observe.md. */
const REFERENCE_BEGIN = '<!-- metrics: written by libs/service-kit/src/commands/write-metrics-table.ts -->';
const REFERENCE_END = '<!-- metrics end -->';

function metricsTable(instruments: readonly AnyInstrument[]): string {
  const rows = instruments.map(({ kind, definition, labelNames, mostSeries }) => [
    `\`${definition.name}\``,
    kind,
    labelNames.length === 0 ? '' : labelNames.map((name) => `\`${labelInPrometheus(name)}\``).join(', '),
    String(mostSeries),
    definition.from.join(', '),
    definition.help.replaceAll('|', '\\|'),
  ]);
  const head = ['metric', 'kind', 'labels', 'series at most', 'from', 'what it says'];
  // Padded as the formatter does it.
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[], fill = ' ') =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0, fill)).join(' | ')} |`;
  const rule = line(
    head.map(() => ''),
    '-',
  );
  return [line(head), rule, ...rows.map((row) => line(row))].join('\n');
}

/** The page with the table of the catalogue. */
export function withMetricsTable(page: string, instruments: readonly AnyInstrument[]): string {
  const begin = page.indexOf(REFERENCE_BEGIN);
  const end = page.indexOf(REFERENCE_END);
  if (begin < 0 || end < begin) throw new Error('the page has no marks for the table of metrics');
  const before = page.slice(0, begin + REFERENCE_BEGIN.length);
  return `${before}\n\n${metricsTable(instruments)}\n\n${page.slice(end)}`;
}

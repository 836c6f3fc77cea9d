import { type AnyInstrument, attributesOf, type Histogram, labelInPrometheus } from './instruments.ts';

/** Prometheus' text format, version 0.0.4, which every scraper reads. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function prometheusText(instruments: readonly AnyInstrument[]): string {
  const lines: string[] = [];
  for (const instrument of instruments) {
    const { name, help } = instrument.definition;
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${instrument.kind}`);
    if (instrument.kind === 'histogram') histogramLines(instrument, lines);
    else {
      for (const { labels, value } of instrument.series)
        lines.push(`${name}${labelText(instrument.labelNames, labels)} ${numberText(value)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function histogramLines({ definition, labelNames, bounds, series }: Histogram, lines: string[]): void {
  const { name } = definition;
  const withBound = [...labelNames, 'le'];
  for (const { labels, counts, sum } of series) {
    let count = 0;
    for (const [at, inBucket] of counts.entries()) {
      count += inBucket;
      const le = at === bounds.length ? '+Inf' : String(bounds[at]);
      lines.push(`${name}_bucket${labelText(withBound, [...labels, le])} ${count}`);
    }
    const text = labelText(labelNames, labels);
    lines.push(`${name}_sum${text} ${numberText(sum)}`, `${name}_count${text} ${count}`);
  }
}

function labelText(names: readonly string[], values: readonly string[]): string {
  const pairs = Object.entries(attributesOf(names, values));
  if (pairs.length === 0) return '';
  return `{${pairs.map(([name, value]) => `${labelInPrometheus(name)}="${escapeValue(value)}"`).join(',')}}`;
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function escapeValue(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value;
}

function escapeHelp(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

import type { Meter, ObservableCounter, ObservableGauge } from '@opentelemetry/api';
import { collect } from './collect.ts';
import { type AnyInstrument, attributesOf, type Counter, type Gauge, type Unit } from './instruments.ts';

/**
 * Exports the same metrics over OTLP while the SDK's meter lives. Counters and gauges are read at each export. Histograms are
 * recorded twice, because the SDK has no observable histogram. A collector that converts the names for Prometheus makes
 * them equal again (`angelia.relay_lag` in `s`: `angelia_relay_lag_seconds`).
 */
export function exportOverOtlp(meter: Meter, instruments: readonly AnyInstrument[]): void {
  const observed: { readonly ours: Counter | Gauge; readonly theirs: ObservableCounter | ObservableGauge }[] =
    [];
  for (const instrument of instruments) {
    const { help: description, unit } = instrument.definition;
    const name = otlpName(instrument);
    if (instrument.kind === 'histogram') {
      const advice = { explicitBucketBoundaries: [...instrument.bounds] };
      const histogram = meter.createHistogram(name, { description, unit, advice });
      instrument.mirror = (value, attributes) => histogram.record(value, attributes);
    } else {
      const make = instrument.kind === 'counter' ? 'createObservableCounter' : 'createObservableGauge';
      observed.push({ ours: instrument, theirs: meter[make](name, { description, unit }) });
    }
  }
  meter.addBatchObservableCallback(
    async (observer) => {
      await collect();
      for (const { ours, theirs } of observed) {
        for (const { labels, value } of ours.series)
          observer.observe(theirs, value, attributesOf(ours.labelNames, labels));
      }
    },
    observed.map(({ theirs }) => theirs),
  );
}

const SUFFIXES: Readonly<Partial<Record<Unit, string>>> = { s: '_seconds', By: '_bytes' };

export function otlpName({ definition }: AnyInstrument): string {
  const { name, unit } = definition;
  if (definition.otlpName !== undefined) return definition.otlpName;
  const bare = name.replace(/_total$/, '');
  const suffix = SUFFIXES[unit] ?? '';
  return (bare.endsWith(suffix) ? bare.slice(0, bare.length - suffix.length) : bare).replace('_', '.');
}

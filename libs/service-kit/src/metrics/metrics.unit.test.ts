import { expiryCodes } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { allMetrics, failureCodes, metrics } from './catalogue.ts';
import type { AnyInstrument } from './instruments.ts';
import { Counter, Gauge, Histogram, labelInPrometheus } from './instruments.ts';
import { names, OTHER, oneOf } from './label-sets.ts';
import { otlpName } from './otlp.ts';
import { prometheusText } from './prometheus-text.ts';
import { countMeasure } from './session-metrics.ts';

const rest = { help: 'h', from: [] } as const;

describe('the text that Prometheus reads', () => {
  it('has help, type and a line per series, with escaped values', () => {
    const counter = new Counter({ ...rest, name: 'c_total', unit: '1', labels: { route: names(9) } });
    counter.add({ route: 'a"b\\c\nd' }, 2);
    counter.add({ route: 'a"b\\c\nd' });
    const gauge = new Gauge({ ...rest, name: 'g', help: 'one\ntwo \\ three', unit: '1', labels: {} });
    gauge.set({}, 0.5);
    expect(prometheusText([counter, gauge] as never)).toBe(
      [
        '# HELP c_total h',
        '# TYPE c_total counter',
        'c_total{route="a\\"b\\\\c\\nd"} 3',
        '# HELP g one\\ntwo \\\\ three',
        '# TYPE g gauge',
        'g 0.5',
        '',
      ].join('\n'),
    );
  });

  it('counts a value that equals a bound below it, and everything in +Inf', () => {
    const histogram = new Histogram({ ...rest, name: 'h', unit: 's', labels: {}, bounds: [1, 5] });
    for (const value of [0.5, 1, 2, 100]) histogram.observe({}, value);
    expect(
      prometheusText([histogram] as never)
        .split('\n')
        .slice(2, -1),
    ).toEqual([
      'h_bucket{le="1"} 2',
      'h_bucket{le="5"} 3',
      'h_bucket{le="+Inf"} 4',
      'h_sum 103.5',
      'h_count 4',
    ]);
  });

  it('starts closed sets at 0, so that a first failure is an increase', () => {
    const counter = new Counter({
      ...rest,
      name: 'c_total',
      unit: '1',
      labels: { a: oneOf('x', 'y'), b: oneOf('1', '2') },
    });
    expect([...counter.series].map(({ labels, value }) => [...labels, value])).toEqual([
      ['x', '1', 0],
      ['x', '2', 0],
      ['y', '1', 0],
      ['y', '2', 0],
    ]);
  });
});

describe('labels', () => {
  it('of a closed set stay as they are; anything else becomes other', () => {
    expect(['x', 'z', '__proto__', ''].map((value) => oneOf('x').of(value as 'x'))).toEqual([
      'x',
      OTHER,
      OTHER,
      OTHER,
    ]);
  });

  it('of names keep the first ones, up to the bound', () => {
    const set = names(2);
    expect(['a', 'b', 'c', 'a', 'd'].map((name) => set.of(name))).toEqual(['a', 'b', OTHER, 'a', OTHER]);
  });

  it('stay within the bound of their instrument, whatever is recorded', async () => {
    // Its own copy of the catalogue: this one is full afterwards.
    const ownCopy = new URL('./catalogue.ts?filled', import.meta.url).href;
    const { allMetrics } = (await import(ownCopy)) as typeof import('./catalogue.ts');
    // More of everything than the bounds allow, with values of a hostile sender, model or API client.
    for (const instrument of allMetrics) {
      const { labelNames } = instrument;
      for (let n = 0; n < 500; n += 1) {
        const values = Object.fromEntries(
          labelNames.map((name, at) => [name, `${name}${at}-${n}-${'x'.repeat(50)}"\n{}`]),
        ) as never;
        if (instrument.kind === 'histogram') instrument.observe(values, 1);
        else instrument.set(values, 1);
      }
      const series = [...instrument.series];
      expect(series.length).toBeLessThanOrEqual(instrument.mostSeries);
      expect(instrument.mostSeries).toBeLessThanOrEqual(MOST_SERIES);
    }
    // The bytes of the largest scrape: a label takes 60 here.
    expect(prometheusText(allMetrics).length).toBeLessThan(4_000_000);
  });

  it('that are empty are left out', () => {
    const histogram = new Histogram({
      name: 'x_seconds',
      help: 'X.',
      unit: 's',
      labels: { 'gen_ai.agent.name': names(2), 'error.type': oneOf('', 'lost') },
      bounds: [1],
      from: ['ingress'],
    });
    const mirrored: object[] = [];
    histogram.mirror = (_, attributes) => mirrored.push(attributes);
    histogram.observe({ 'gen_ai.agent.name': 'a', 'error.type': '' }, 0.5);
    histogram.observe({ 'gen_ai.agent.name': 'a', 'error.type': 'lost' }, 0.5);
    const text = prometheusText([histogram as never]);
    expect(text).toContain('x_seconds_count{gen_ai_agent_name="a"} 1');
    expect(text).toContain('x_seconds_count{gen_ai_agent_name="a",error_type="lost"} 1');
    expect(mirrored).toEqual([
      { 'gen_ai.agent.name': 'a' },
      { 'gen_ai.agent.name': 'a', 'error.type': 'lost' },
    ]);
  });

  it('beyond the most combinations share one series', () => {
    const counter = new Counter({
      name: 'x_total',
      help: 'X.',
      unit: '1',
      labels: { a: names(10), b: names(10) },
      most: 3,
      from: ['ingress'],
    });
    for (const a of ['1', '2']) for (const b of ['1', '2', '3']) counter.add({ a, b });
    expect(counter.mostSeries).toBe(4);
    expect([...counter.series].map(({ labels, value }) => [...labels, value])).toEqual([
      ['1', '1', 1],
      ['1', '2', 1],
      ['1', '3', 1],
      [OTHER, OTHER, 3],
    ]);
  });

  it('of tools that a model made up share one value', () => {
    const before = [...metrics.toolCalls.series].length;
    for (let n = 0; n < 1_000; n += 1)
      countMeasure({ what: 'tool-ended', agent: 'a', tool: `rm_${n}`, outcome: 'error', ms: null });
    for (let n = 0; n < 1_000; n += 1)
      countMeasure({ what: 'tool-ended', agent: 'a', tool: `mcp__server${n}__t`, outcome: 'ok', ms: 5 });
    expect([...metrics.toolCalls.series].length - before).toBeLessThanOrEqual(2);
  });

  it('of failures include every code of an expiry', () => {
    expect(failureCodes).toEqual(expect.arrayContaining([...expiryCodes]));
  });

  it('of attempts end at four', () => {
    const attempts = () =>
      Object.fromEntries(
        [...metrics.deliveries.series]
          .filter(({ labels }) => labels[0] === 'http' && labels[1] === 'failed')
          .map(({ labels, value }) => [labels[2], value]),
      );
    const before = attempts();
    for (const attempt of [1, 4, 5, 99])
      countMeasure({ what: 'delivery', target: 'http', outcome: 'failed', attempt });
    expect(attempts()).toEqual({ ...before, 1: (before[1] ?? 0) + 1, '4+': (before['4+'] ?? 0) + 3 });
  });
});

/** The largest is webhooks by route and outcome: 101 x 16. Anything above has one label too many. */
const MOST_SERIES = 2_000;

describe('every metric', () => {
  it.each(allMetrics.map((metric) => [metric.definition.name, metric] as const))(
    '%s is named as Prometheus wants',
    (name, metric) => {
      const { unit, help, from } = metric.definition;
      expect(name).toMatch(/^(angelia|process|nodejs|gen_ai)_[a-z_]+$/);
      expect(name.endsWith('_total')).toBe(metric.kind === 'counter');
      const bare = name.replace(/_total$/, '');
      expect(bare.endsWith('_seconds')).toBe(unit === 's');
      expect(bare.endsWith('_bytes')).toBe(unit === 'By');
      expect(help).toMatch(/^[A-Z0-9`].*\.$/s);
      expect(from.length).toBeGreaterThan(0);
      for (const label of metric.labelNames) expect(labelInPrometheus(label)).toMatch(/^[a-z_]+$/);
    },
  );

  it('has a unique name, also over OTLP, where the unit is separate', () => {
    const all = allMetrics.map(otlpName);
    expect(new Set(all).size).toBe(all.length);
    expect(all).toEqual(expect.arrayContaining(['angelia.webhooks', 'angelia.relay_lag', 'process.cpu']));
  });

  it.each(allMetrics.map((metric) => [metric.definition.name, metric] as const))(
    '%s keeps its name when a collector converts it for Prometheus',
    (name, metric) => {
      const { unit } = metric.definition;
      expect(inPrometheus({ name: otlpName(metric), unit, kind: metric.kind })).toBe(name);
    },
  );
});

/**
 * "Prometheus and OpenMetrics Compatibility" of the OpenTelemetry specification, as the Prometheus exporters of the
 * collector and VictoriaMetrics do it.
 */
function inPrometheus({
  name,
  unit,
  kind,
}: {
  name: string;
  unit: string;
  kind: AnyInstrument['kind'];
}): string {
  const words = name.replace(/[^a-zA-Z0-9:]+/g, '_').split('_');
  const units: Readonly<Record<string, string>> = { s: 'seconds', ms: 'milliseconds', By: 'bytes' };
  const word = unit === '1' && kind === 'gauge' ? 'ratio' : units[unit.replace(/\{[^{}]*\}/g, '')];
  if (word !== undefined && !words.includes(word)) words.push(word);
  const bare = words.filter((each) => kind !== 'counter' || each !== 'total');
  return (kind === 'counter' ? [...bare, 'total'] : bare).join('_');
}

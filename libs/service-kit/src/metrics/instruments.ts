import type { LabelSet } from './label-sets.ts';

/** What labels an instrument has, in the order in which they are shown. */
export type Labels = Readonly<Record<string, LabelSet>>;
export type LabelValues<L extends Labels> = {
  readonly [Name in keyof L]: L[Name] extends LabelSet<infer Value> ? Value : never;
};

/** By the name's ending: Prometheus wants base units in names. */
export type Unit = 's' | 'By' | '1';

export interface Definition<L extends Labels> {
  /** As Prometheus has it: unit and `_total` included. */
  readonly name: string;
  readonly help: string;
  readonly unit: Unit;
  readonly labels: L;
  /** Which of the services export it. `leader`: whichever leads, and nobody else. */
  readonly from: readonly Exporter[];
}

export type Exporter =
  | 'ingress'
  | 'agent-runner'
  | 'delivery'
  | 'process-watcher'
  | 'every service'
  | 'leader';

export interface Series {
  readonly labels: readonly string[];
  value: number;
}

/** Joins values into a key: no value of ours holds it. */
const SEPARATOR = '\u0000';

abstract class Instrument<L extends Labels, S extends { readonly labels: readonly string[] }> {
  readonly definition: Definition<L>;
  readonly labelNames: readonly string[];
  /** So many series at most, whatever is recorded (invariant bounded). */
  readonly mostSeries: number;
  protected readonly held = new Map<string, S>();
  private readonly sets: readonly LabelSet[];

  constructor(definition: Definition<L>) {
    this.definition = definition;
    this.labelNames = Object.keys(definition.labels);
    this.sets = Object.values(definition.labels);
    this.mostSeries = this.sets.reduce((product, { size }) => product * size, 1);
  }

  get series(): Iterable<S> {
    return this.held.values();
  }

  protected abstract begin(labels: readonly string[]): S;

  protected find(values: LabelValues<L>): S {
    const given = values as Readonly<Record<string, string>>;
    let key = '';
    for (let at = 0; at < this.sets.length; at += 1) {
      const value = (this.sets[at] as LabelSet).of(given[this.labelNames[at] as string] as string);
      key = at === 0 ? value : key + SEPARATOR + value;
    }
    const known = this.held.get(key);
    if (known !== undefined) return known;
    const begun = this.begin(this.sets.length === 0 ? [] : key.split(SEPARATOR));
    this.held.set(key, begun);
    return begun;
  }

  /** Every combination of closed sets, where these are few: a series that begins with its first count shows no increase. */
  protected beginAll(): void {
    if (this.mostSeries > MOST_BEGUN || this.sets.some(({ values }) => values === null)) return;
    const combinations = this.sets.reduce<string[][]>(
      (rows, { values }) => rows.flatMap((row) => (values ?? []).map((value) => [...row, value])),
      [[]],
    );
    for (const row of combinations) {
      this.find(Object.fromEntries(row.map((value, at) => [this.labelNames[at], value])) as LabelValues<L>);
    }
  }
}

const MOST_BEGUN = 64;

/** Goes up only. */
export class Counter<L extends Labels = Labels> extends Instrument<L, Series> {
  readonly kind = 'counter';

  constructor(definition: Definition<L>) {
    super(definition);
    this.beginAll();
  }

  add(values: LabelValues<L>, by = 1): void {
    this.find(values).value += by;
  }

  /** For what something else counts already, such as the process's CPU time. */
  set(values: LabelValues<L>, value: number): void {
    this.find(values).value = value;
  }

  protected begin(labels: readonly string[]): Series {
    return { labels, value: 0 };
  }
}

/** What is now. */
export class Gauge<L extends Labels = Labels> extends Instrument<L, Series> {
  readonly kind = 'gauge';

  set(values: LabelValues<L>, value: number): void {
    this.find(values).value = value;
  }

  /** Not ours to tell any more: another process leads. */
  clear(): void {
    this.held.clear();
  }

  protected begin(labels: readonly string[]): Series {
    return { labels, value: 0 };
  }
}

export interface HistogramSeries {
  readonly labels: readonly string[];
  /** One more than bounds: the last is what is above all of them. Not cumulative. */
  readonly counts: Float64Array;
  sum: number;
}

/** How often, and how large. */
export class Histogram<L extends Labels = Labels> extends Instrument<L, HistogramSeries> {
  readonly kind = 'histogram';
  /** Upper bounds, included, ascending. */
  readonly bounds: readonly number[];
  /** Set while the same is sent over OTLP, whose histograms cannot be read off ours. */
  mirror: ((value: number, labels: Readonly<Record<string, string>>) => void) | null = null;

  constructor(definition: Definition<L> & { readonly bounds: readonly number[] }) {
    super(definition);
    this.bounds = definition.bounds;
    if (this.labelNames.length === 0) this.beginAll();
  }

  observe(values: LabelValues<L>, value: number): void {
    const series = this.find(values);
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] as number) + 1;
    series.sum += value;
    this.mirror?.(value, attributesOf(this.labelNames, series.labels));
  }

  protected begin(labels: readonly string[]): HistogramSeries {
    return { labels, counts: new Float64Array(this.bounds.length + 1), sum: 0 };
  }
}

export type AnyInstrument = Counter | Gauge | Histogram;

export function attributesOf(
  labelNames: readonly string[],
  labels: readonly string[],
): Record<string, string> {
  return Object.fromEntries(labelNames.map((name, at) => [name, labels[at] as string]));
}

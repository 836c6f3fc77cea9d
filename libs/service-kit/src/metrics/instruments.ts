import { type LabelSet, OTHER } from './label-sets.ts';

/**
 * The labels of an instrument, in the order in which they are shown. Those of OpenTelemetry's conventions have dots in their
 * names; Prometheus gets them with underscores.
 */
type Labels = Readonly<Record<string, LabelSet>>;
type LabelValues<L extends Labels> = {
  readonly [Name in keyof L]: L[Name] extends LabelSet<infer Value> ? Value : never;
};

/**
 * The name ends with it: Prometheus wants base units in names. A thing that is counted is in braces, which no name shows. `1`
 * is for counters only: a gauge in `1` is a ratio, and whoever converts the names for Prometheus adds `_ratio` to it.
 */
export type Unit = 's' | 'By' | '1' | `{${string}}`;

interface Definition<L extends Labels> {
  /** The name in Prometheus, with unit and `_total`. */
  readonly name: string;
  readonly help: string;
  readonly unit: Unit;
  readonly labels: L;
  /** The name over OTLP, if a convention gives it. Default: made from the name in Prometheus (otlp.ts). */
  readonly otlpName?: string;
  /** The most series, where labels depend on each other, so that few combinations exist. Further ones share one series. */
  readonly most?: number;
  /** The services that export it. `leader`: only the service that leads. */
  readonly from: readonly Exporter[];
}

export type Exporter =
  | 'ingress'
  | 'agent-runner'
  | 'delivery'
  | 'process-watcher'
  | 'every service'
  | 'leader';

interface Series {
  readonly labels: readonly string[];
  value: number;
}

/** Joins values into a key: no value contains it. */
const SEPARATOR = '\u0000';

abstract class Instrument<L extends Labels, S extends { readonly labels: readonly string[] }> {
  readonly definition: Definition<L>;
  readonly labelNames: readonly string[];
  /** The most series, whatever is recorded (invariant bounded). */
  readonly mostSeries: number;
  protected readonly held = new Map<string, S>();
  readonly #sets: readonly LabelSet[];

  constructor(definition: Definition<L>) {
    this.definition = definition;
    this.labelNames = Object.keys(definition.labels);
    this.#sets = Object.values(definition.labels);
    const combinations = this.#sets.reduce((product, { size }) => product * size, 1);
    this.mostSeries = Math.min(combinations, (definition.most ?? Number.POSITIVE_INFINITY) + 1);
  }

  get series(): Iterable<S> {
    return this.held.values();
  }

  protected abstract create(labels: readonly string[]): S;

  protected find(values: LabelValues<L>): S {
    const given = values as Readonly<Record<string, string>>;
    let key = '';
    for (let at = 0; at < this.#sets.length; at += 1) {
      const value = (this.#sets[at] as LabelSet).of(given[this.labelNames[at] as string] as string);
      key = at === 0 ? value : key + SEPARATOR + value;
    }
    const known = this.held.get(key);
    if (known !== undefined) return known;
    if (this.held.size >= (this.definition.most ?? Number.POSITIVE_INFINITY)) return this.#rest();
    const created = this.create(this.#sets.length === 0 ? [] : key.split(SEPARATOR));
    this.held.set(key, created);
    return created;
  }

  /** The series that all combinations beyond `most` share. */
  #rest(): S {
    const labels = this.#sets.map(() => OTHER);
    const key = labels.join(SEPARATOR);
    const rest = this.held.get(key) ?? this.create(labels);
    this.held.set(key, rest);
    return rest;
  }

  /** Starts every combination of closed sets, if they are few: a series that starts with its first count shows no increase. */
  protected createAll(): void {
    if (this.mostSeries > MOST_CREATED || this.#sets.some(({ values }) => values === null)) return;
    const combinations = this.#sets.reduce<string[][]>(
      (rows, { values }) => rows.flatMap((row) => (values ?? []).map((value) => [...row, value])),
      [[]],
    );
    for (const row of combinations) {
      this.find(Object.fromEntries(row.map((value, at) => [this.labelNames[at], value])) as LabelValues<L>);
    }
  }
}

const MOST_CREATED = 64;

/** A value that only goes up. */
export class Counter<L extends Labels = Labels> extends Instrument<L, Series> {
  readonly kind = 'counter';

  constructor(definition: Definition<L>) {
    super(definition);
    this.createAll();
  }

  add(values: LabelValues<L>, by = 1): void {
    this.find(values).value += by;
  }

  /** For a value that something else counts, such as the CPU time of the process. */
  set(values: LabelValues<L>, value: number): void {
    this.find(values).value = value;
  }

  protected create(labels: readonly string[]): Series {
    return { labels, value: 0 };
  }
}

/** The current value of something. */
export class Gauge<L extends Labels = Labels> extends Instrument<L, Series> {
  readonly kind = 'gauge';

  set(values: LabelValues<L>, value: number): void {
    this.find(values).value = value;
  }

  /** Another process leads now and reports it. */
  clear(): void {
    this.held.clear();
  }

  protected create(labels: readonly string[]): Series {
    return { labels, value: 0 };
  }
}

interface HistogramSeries {
  readonly labels: readonly string[];
  /** One more than bounds: the last counts what is above all of them. Not cumulative. */
  readonly counts: Float64Array;
  sum: number;
}

/** How often, and how large, a value is. */
export class Histogram<L extends Labels = Labels> extends Instrument<L, HistogramSeries> {
  readonly kind = 'histogram';
  /** Upper bounds, inclusive, ascending. */
  readonly bounds: readonly number[];
  /** Set while telemetry is on: OTLP's histogram records the same values. */
  mirror: ((value: number, attributes: Readonly<Record<string, string | number>>) => void) | null = null;

  constructor(definition: Definition<L> & { readonly bounds: readonly number[] }) {
    super(definition);
    this.bounds = definition.bounds;
    if (this.labelNames.length === 0) this.createAll();
  }

  /** @param overOtlp attributes that only OTLP gets: `/metrics` has no protection, so it holds no address */
  observe(values: LabelValues<L>, value: number, overOtlp?: Readonly<Record<string, string | number>>): void {
    const series = this.find(values);
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] as number) + 1;
    series.sum += value;
    this.mirror?.(value, { ...attributesOf(this.labelNames, series.labels), ...overOtlp });
  }

  protected create(labels: readonly string[]): HistogramSeries {
    return { labels, counts: new Float64Array(this.bounds.length + 1), sum: 0 };
  }
}

export type AnyInstrument = Counter | Gauge | Histogram;

/** An empty value stands for a label that does not apply (`error.type` of a success). It is left out, as Prometheus does. */
export function attributesOf(
  labelNames: readonly string[],
  labels: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    labelNames.flatMap((name, at) => (labels[at] === '' ? [] : [[name, labels[at] as string]])),
  );
}

/** The name of a label in Prometheus. */
export function labelInPrometheus(name: string): string {
  return name.replaceAll('.', '_');
}

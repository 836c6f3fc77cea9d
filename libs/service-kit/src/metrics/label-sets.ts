/**
 * The values that a label may have: every set is bounded, so that no sender, model or caller of the API can make a
 * process hold, and Prometheus store, ever more series. What is not in the set is told as OTHER.
 */
export interface LabelSet<Value extends string = string> {
  /** At most so many different values come out of `of`, OTHER included. */
  readonly size: number;
  /** Known from the start; null: names that come as they come, up to the bound. */
  readonly values: readonly Value[] | null;
  of(value: Value): string;
}

/** No name of ours has parentheses. */
export const OTHER = '(other)';

/** A closed set. */
export function oneOf<const Value extends string>(...values: readonly Value[]): LabelSet<Value> {
  const known = new Set<string>(values);
  return {
    size: values.length + 1,
    values,
    of: (value) => (known.has(value) ? value : OTHER),
  };
}

/** A closed set for values that come from the log, where the type system does not know them. */
export function listed(...values: readonly string[]): LabelSet {
  return oneOf(...values);
}

/**
 * Names that an operator gave: routes, agents, models. The first `most` of this process have a value of their own, all
 * further ones share OTHER. Who asks with a name from outside checks first that there is such a thing.
 */
export function names(most: number): LabelSet {
  const known = new Set<string>();
  return {
    size: most + 1,
    values: null,
    of: (name) => {
      if (known.has(name)) return name;
      if (known.size >= most) return OTHER;
      known.add(name);
      return name;
    },
  };
}

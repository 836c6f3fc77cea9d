/**
 * The values that a label may have. Every set is bounded, so that no sender, model or API client can make a process hold,
 * and Prometheus store, ever more series. A value outside the set becomes OTHER.
 */
export interface LabelSet<Value extends string = string> {
  /** The most different values that `of` returns, OTHER included. */
  readonly size: number;
  /** Known from the start; null: names are taken as they come, up to the bound. */
  readonly values: readonly Value[] | null;
  of(value: Value): string;
}

/** No name in a config has parentheses. */
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

/** A closed set for values from the log, which the type system does not know. */
export function listed(...values: readonly string[]): LabelSet {
  return oneOf(...values);
}

/**
 * Names that an operator gave: routes, agents, models. The first `most` names have their own value, all further ones share
 * OTHER. The `reserved` ones are among them from the start, whatever comes first. A caller with a name from outside must
 * check first that it exists.
 */
export function names(most: number, ...reserved: readonly string[]): LabelSet {
  const known = new Set<string>(reserved);
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

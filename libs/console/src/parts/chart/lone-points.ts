/** Places of values without a neighbour. A line has nothing to connect there, so they are drawn as points. */
export function lonePoints(values: readonly (number | null | undefined)[]): number[] {
  const isThere = (index: number) => typeof values[index] === 'number';
  return values.flatMap((_value, index) =>
    isThere(index) && !isThere(index - 1) && !isThere(index + 1) ? [index] : [],
  );
}

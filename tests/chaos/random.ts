/** Numbers that depend only on the seed (mulberry32), so that a run can be repeated. */
export interface Random {
  /** From 0 to below 1. */
  next(): number;
  between(least: number, most: number): number;
  pick<T>(from: readonly T[]): T;
  shuffled<T>(from: readonly T[]): T[];
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    between: (least, most) => least + below(most - least + 1),
    pick: (from) => from[below(from.length)] as (typeof from)[number],
    shuffled(from) {
      const cards = [...from];
      for (let last = cards.length - 1; last > 0; last -= 1) {
        const other = below(last + 1);
        [cards[last], cards[other]] = [
          cards[other] as (typeof cards)[number],
          cards[last] as (typeof cards)[number],
        ];
      }
      return cards;
    },
  };
}

/** Wrong tokens that an address may send at once: a script with an old token, a person who pastes the wrong one. */
const AT_ONCE = 10;
/** After that, one a second: 86,400 a day of what has 62^16 values at its shortest. */
const REFILL_MS = 1_000;
/** Bounds memory: some 100 bytes each. A crowd that is larger than this has fresh addresses for every guess anyway. */
const MOST_PEERS = 10_000;
/** Of those that have used the right token: operators and their scripts. Kept apart, so that no crowd can push them out. */
const MOST_KNOWN = 1_000;

/** `unchecked`: nobody looked at the token. */
export type Verdict = 'right' | 'wrong' | 'slowed' | 'unchecked';

/**
 * Slows down who guesses the admin token, per address. An address without tries left is answered without a look at its
 * token, so that more guesses tell it nothing. An address that has used the right token before is always looked at:
 * nobody who shares it with the operator (a NAT, a proxy, a program on the same machine) can lock the operator out.
 * There is no longer lock than REFILL_MS: as soon as the guesses stop, the next token is looked at.
 */
export class TokenGuesses {
  readonly #triesOf = new Map<string, { left: number; at: number }>();
  readonly #known = new Set<string>();

  judge(peer: string, isRight: () => boolean, nowMs: number): Verdict {
    const tries = this.#triesOf.get(peer);
    const left =
      tries === undefined ? AT_ONCE : Math.min(AT_ONCE, tries.left + (nowMs - tries.at) / REFILL_MS);
    if (left < 1 && !this.#known.has(peer)) return 'unchecked';
    if (isRight()) {
      keepNewest(this.#known, peer, MOST_KNOWN, () => this.#known.add(peer));
      return 'right';
    }
    if (left < 1) return 'slowed';
    keepNewest(this.#triesOf, peer, MOST_PEERS, () => this.#triesOf.set(peer, { left: left - 1, at: nowMs }));
    return 'wrong';
  }
}

/** At the end of a set or map that holds the oldest first. */
function keepNewest(
  held: { delete(key: string): boolean; keys(): Iterator<string>; readonly size: number },
  key: string,
  most: number,
  add: () => void,
): void {
  held.delete(key);
  add();
  if (held.size > most) held.delete(held.keys().next().value as string);
}

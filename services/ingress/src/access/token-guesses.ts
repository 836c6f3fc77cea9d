import { keepNewest } from './keep-newest.ts';

/** Wrong tokens that a client may send at once: a script with an old token, a person who pastes the wrong one. */
const AT_ONCE = 10;
/** After that one a second: 86,400 a day, while the shortest token has 62^16 possible values. */
const REFILL_MS = 1_000;
/** Bounds memory: about 100 bytes each. A larger crowd has a new address for every guess anyway. */
const MOST_CLIENTS = 10_000;
/** Clients that have used the right token: operators and their scripts. Kept apart, so that no crowd can push them out. */
const MOST_KNOWN = 1_000;

/** `unchecked`: the token was not compared. */
export type GuessVerdict = 'right' | 'wrong' | 'slowed' | 'unchecked';

/**
 * Slows down guesses of the admin token, per client network. A client without tries left is answered without a comparison,
 * so more guesses tell it nothing. A client that has used the right token before is always compared: nobody who shares its
 * address (a NAT, a proxy, a program on the same machine) can lock the operator out. No lock lasts longer than REFILL_MS:
 * once the guesses stop, the next token is compared.
 */
export class TokenGuesses {
  readonly #triesOf = new Map<string, { left: number; at: number }>();
  readonly #known = new Set<string>();

  judge(client: string, isRight: () => boolean, nowMs: number): GuessVerdict {
    const tries = this.#triesOf.get(client);
    const left =
      tries === undefined ? AT_ONCE : Math.min(AT_ONCE, tries.left + (nowMs - tries.at) / REFILL_MS);
    if (left < 1 && !this.#known.has(client)) return 'unchecked';
    if (isRight()) {
      keepNewest(this.#known, client, MOST_KNOWN, () => this.#known.add(client));
      return 'right';
    }
    if (left < 1) return 'slowed';
    keepNewest(this.#triesOf, client, MOST_CLIENTS, () =>
      this.#triesOf.set(client, { left: left - 1, at: nowMs }),
    );
    return 'wrong';
  }
}

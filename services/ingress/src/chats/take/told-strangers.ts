import { keepNewest } from '../../access/keep-newest.ts';

const A_DAY_MS = 86_400_000;
/** Bounds memory: about 100 bytes each. The log knows the others. */
const MOST = 10_000;

/** Strangers who already got the reply today, so that their next message needs no look into the log. */
export class ToldStrangers {
  readonly #toldAt = new Map<string, number>();

  has(stranger: string): boolean {
    const at = this.#toldAt.get(stranger);
    return at !== undefined && performance.now() - at < A_DAY_MS;
  }

  add(stranger: string): void {
    keepNewest(this.#toldAt, stranger, MOST, () => this.#toldAt.set(stranger, performance.now()));
  }
}

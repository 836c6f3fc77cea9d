/**
 * Who may send now. A destination (a target, or an origin of the http target) has so many places; who finds none is
 * parked until one is free, so that a platform that hangs holds back only what goes there. Parked are ids, not work:
 * what does not fit is left to the sweep, which finds it in the views.
 */
export class Places {
  readonly #perDestination: number;
  readonly #maxParked: number;
  readonly #taken = new Map<string, number>();
  readonly #parked = new Map<string, Set<string>>();
  #parkedCount = 0;

  constructor(limits: { readonly perDestination: number; readonly maxParked: number }) {
    this.#perDestination = limits.perDestination;
    this.#maxParked = limits.maxParked;
  }

  get parkedCount(): number {
    return this.#parkedCount;
  }

  /** `waited`: it was parked and its turn has come. Others do not overtake those that wait. */
  take(destination: string, waited: boolean): boolean {
    const taken = this.#taken.get(destination) ?? 0;
    if (taken >= this.#perDestination) return false;
    // With nobody sending there is nobody to call those that wait: then whoever comes goes first, and calls them.
    if (!waited && taken > 0 && this.#parked.has(destination)) return false;
    this.#taken.set(destination, taken + 1);
    return true;
  }

  /** False: there is no room to remember it. */
  park(destination: string, sessionId: string): boolean {
    const waiting = this.#parked.get(destination);
    if (waiting?.has(sessionId)) return true;
    if (this.#parkedCount >= this.#maxParked) return false;
    this.#parkedCount += 1;
    if (waiting) waiting.add(sessionId);
    else this.#parked.set(destination, new Set([sessionId]));
    return true;
  }

  /** Gives the place back, and returns who waited longest for it. */
  free(destination: string): string | null {
    const taken = (this.#taken.get(destination) ?? 1) - 1;
    if (taken > 0) this.#taken.set(destination, taken);
    else this.#taken.delete(destination);
    const waiting = this.#parked.get(destination);
    const [next] = waiting ?? [];
    if (waiting === undefined || next === undefined) return null;
    waiting.delete(next);
    if (waiting.size === 0) this.#parked.delete(destination);
    this.#parkedCount -= 1;
    return next;
  }

  /** Nobody is let in after this: the service is draining. */
  forgetParked(): void {
    this.#parked.clear();
    this.#parkedCount = 0;
  }
}

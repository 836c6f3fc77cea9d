import type { Destination } from '../targets/target.ts';

export interface CapacityLimits {
  readonly perDestination: number;
  /** A circuit that is only a part of its destination gets fewer slots: one hook that hangs leaves some to others of its host. */
  readonly perCircuit: number;
}

/** A send takes a slot in each of its pools. */
interface Pool {
  readonly name: string;
  readonly slots: number;
}

/** How many sends are in flight, per destination and per circuit within it. */
export class Capacity {
  readonly #limits: CapacityLimits;
  readonly #inFlight = new Map<string, number>();

  constructor(limits: CapacityLimits) {
    this.#limits = limits;
  }

  /** The circuit's part of the destination comes first, so that a session that waits there is in nobody else's way. */
  poolsOf({ name, circuit }: Destination): readonly Pool[] {
    const whole = { name, slots: this.#limits.perDestination };
    return circuit === undefined ? [whole] : [{ name: circuit, slots: this.#limits.perCircuit }, whole];
  }

  /** The first pool without a free slot. */
  fullPool(destination: Destination): Pool | undefined {
    return this.poolsOf(destination).find(({ name, slots }) => this.inFlight(name) >= slots);
  }

  inFlight(pool: string): number {
    return this.#inFlight.get(pool) ?? 0;
  }

  take(destination: Destination): void {
    for (const { name } of this.poolsOf(destination)) this.#inFlight.set(name, this.inFlight(name) + 1);
  }

  release(destination: Destination): void {
    for (const { name } of this.poolsOf(destination)) {
      const inFlight = this.inFlight(name) - 1;
      if (inFlight > 0) this.#inFlight.set(name, inFlight);
      else this.#inFlight.delete(name);
    }
  }
}

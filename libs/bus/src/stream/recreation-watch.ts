/**
 * On first sight, a stream younger than this counts as recreated: after a restart of everything on an emptied store
 * it is another service that creates the stream, and someone has to hint what is unsettled. Hinting once too often
 * is harmless, so the value only has to be longer than a start takes.
 */
const YOUNG_MS = 60_000;

/** Notices that the stream is not the one it was: hints that were published before may never arrive. */
export class RecreationWatch {
  readonly #onRecreated: () => void;
  #createdAt: string | null = null;
  #lastSequence = 0;
  #recreated = false;

  constructor(onRecreated: () => void) {
    this.#onRecreated = onRecreated;
  }

  get hasSeenStream(): boolean {
    return this.#createdAt !== null;
  }

  sawStream(seen: { createdAt: string; created: boolean }, now: number): void {
    const before = this.#createdAt;
    if (before === seen.createdAt) return;
    this.#createdAt = seen.createdAt;
    this.#lastSequence = 0;
    const young = now - Date.parse(seen.createdAt) < YOUNG_MS;
    if (before !== null || seen.created || young) this.#notice();
  }

  /** A duplicate's ack carries the sequence of the first copy: no step backwards. */
  sawAck(ack: { seq: number; duplicate: boolean }): void {
    if (ack.duplicate) return;
    if (ack.seq <= this.#lastSequence) this.#notice();
    this.#lastSequence = ack.seq;
  }

  /** Whether it happened since this was asked last. */
  takeRecreated(): boolean {
    const recreated = this.#recreated;
    this.#recreated = false;
    return recreated;
  }

  #notice(): void {
    this.#recreated = true;
    this.#onRecreated();
  }
}

/**
 * When it is first seen, a stream younger than this counts as recreated: after a restart of everything on an emptied store
 * another service may create the stream, and somebody has to hint what is unsettled. One hint too many is harmless, so
 * the value only has to be longer than a start takes.
 */
const YOUNG_MS = 60_000;

/** Notices that the stream is another one than before: hints that were published before may never arrive. */
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

  /** The ack of a duplicate carries the sequence of the first copy, so it is not a step backwards. */
  sawAck(ack: { seq: number; duplicate: boolean }): void {
    if (ack.duplicate) return;
    if (ack.seq <= this.#lastSequence) this.#notice();
    this.#lastSequence = ack.seq;
  }

  /** Whether it happened since the last call. */
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

/**
 * Sessions that wait, in one queue per obstacle, in the order of arrival. They are ids, not work: a session that does not fit
 * is left to the sweep, which finds it in the views (invariant bounded).
 */
export class WaitingSessions<Intent> {
  readonly #max: number;
  readonly #queues = new Map<string, Map<string, Intent>>();
  readonly #queueOf = new Map<string, string>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#queueOf.size;
  }

  queueOf(sessionId: string): string | undefined {
    return this.#queueOf.get(sessionId);
  }

  intentOf(sessionId: string): Intent | undefined {
    return this.#queues.get(this.#queueOf.get(sessionId) ?? '')?.get(sessionId);
  }

  /** A session that waits already keeps its position. False: there is no space. */
  add(sessionId: string, intent: Intent, queue: string): boolean {
    if (this.#queueOf.has(sessionId)) return true;
    if (this.#queueOf.size >= this.#max) return false;
    this.#queueOf.set(sessionId, queue);
    const waiting = this.#queues.get(queue);
    if (waiting) waiting.set(sessionId, intent);
    else this.#queues.set(queue, new Map([[sessionId, intent]]));
    return true;
  }

  remove(sessionId: string): void {
    const queue = this.#queueOf.get(sessionId);
    if (queue === undefined) return;
    this.#queueOf.delete(sessionId);
    const waiting = this.#queues.get(queue);
    waiting?.delete(sessionId);
    if (waiting?.size === 0) this.#queues.delete(queue);
  }

  first(queue: string): readonly [sessionId: string, intent: Intent] | undefined {
    const [first] = this.#queues.get(queue) ?? [];
    return first;
  }

  isEmpty(queue: string): boolean {
    return !this.#queues.has(queue);
  }

  clear(): void {
    this.#queues.clear();
    this.#queueOf.clear();
  }
}

/** When what waits was written, by one clock: within an ordered queue the oldest is first. */
interface Waiting {
  readonly writtenAt: number;
}

interface Queue<Intent> {
  /** In the order of arrival. */
  readonly sessions: Map<string, Intent>;
  /** Null: not known since it left. Looked for once for each that leaves, not for each look at the queue. */
  first: readonly [sessionId: string, intent: Intent] | null;
}

/**
 * Sessions that wait, in one queue per obstacle. They are ids, not work: a session that does not fit is left to the sweep,
 * which finds it in the views (invariant bounded).
 *
 * Most queues are in the order of arrival. An ordered one goes by age: a session with three answers to send arrives again
 * after each of them, and must not be overtaken by the session that continues its conversation.
 */
export class WaitingSessions<Intent extends Waiting> {
  readonly #max: number;
  readonly #isOrdered: (queue: string) => boolean;
  readonly #queues = new Map<string, Queue<Intent>>();
  readonly #queueOf = new Map<string, string>();

  constructor(max: number, isOrdered: (queue: string) => boolean) {
    this.#max = max;
    this.#isOrdered = isOrdered;
  }

  get size(): number {
    return this.#queueOf.size;
  }

  queueOf(sessionId: string): string | undefined {
    return this.#queueOf.get(sessionId);
  }

  intentOf(sessionId: string): Intent | undefined {
    return this.#queues.get(this.#queueOf.get(sessionId) ?? '')?.sessions.get(sessionId);
  }

  /** A session that waits already keeps its position. False: there is no space. */
  add(sessionId: string, intent: Intent, name: string): boolean {
    if (this.#queueOf.has(sessionId)) return true;
    if (this.#queueOf.size >= this.#max) return false;
    this.#queueOf.set(sessionId, name);
    const queue = this.#queues.get(name);
    if (queue === undefined) {
      this.#queues.set(name, { sessions: new Map([[sessionId, intent]]), first: [sessionId, intent] });
      return true;
    }
    queue.sessions.set(sessionId, intent);
    if (queue.first !== null && this.#isOrdered(name) && intent.writtenAt < queue.first[1].writtenAt)
      queue.first = [sessionId, intent];
    return true;
  }

  remove(sessionId: string): void {
    const name = this.#queueOf.get(sessionId);
    if (name === undefined) return;
    this.#queueOf.delete(sessionId);
    const queue = this.#queues.get(name);
    queue?.sessions.delete(sessionId);
    if (queue?.sessions.size === 0) this.#queues.delete(name);
    else if (queue?.first?.[0] === sessionId) queue.first = null;
  }

  first(name: string): readonly [sessionId: string, intent: Intent] | undefined {
    const queue = this.#queues.get(name);
    if (queue === undefined) return undefined;
    queue.first ??= this.#firstOf(name, queue.sessions);
    return queue.first ?? undefined;
  }

  isEmpty(name: string): boolean {
    return !this.#queues.has(name);
  }

  clear(): void {
    this.#queues.clear();
    this.#queueOf.clear();
  }

  #firstOf(name: string, sessions: ReadonlyMap<string, Intent>) {
    const isOrdered = this.#isOrdered(name);
    let first: readonly [sessionId: string, intent: Intent] | null = null;
    for (const one of sessions) {
      if (first === null || one[1].writtenAt < first[1].writtenAt) first = one;
      if (!isOrdered) break;
    }
    return first;
  }
}

/**
 * Sessions whose route has as many runs at once as it may (`max_concurrency`), each route in a line of its own, in the
 * order in which they came. A session that stands here holds no place of its agent: a flood on a limited route takes
 * nothing from the others. The log decides (the pool of the run's lease); a line only says who asks it next, so that
 * its head asks for all behind it. Losing the lines loses nothing: the sweep hints again.
 */
export class RouteLines {
  readonly #lines = new Map<string, Line>();
  readonly #cap: number;

  constructor(cap = LINE_CAP) {
    this.#cap = cap;
  }

  /** Somebody stands here, or is being tried: whoever comes stands behind. */
  has(route: string): boolean {
    return this.#lines.has(route);
  }

  wait(route: string, sessionId: string): void {
    const line = this.#lines.get(route) ?? { ids: new Set(), overflowed: false, tried: false };
    this.#lines.set(route, line);
    if (line.ids.has(sessionId)) return;
    // Beyond the cap, and whoever comes after that: found in the queue view, in their order.
    if (line.overflowed || line.ids.size >= this.#cap) line.overflowed = true;
    else line.ids.add(sessionId);
  }

  /**
   * Tries one after the other until one does not fit, one trial per route at a time. `fill` is asked when the line has
   * run out although some were not let in.
   */
  async tryOut(
    route: string,
    fits: (sessionId: string) => Promise<boolean>,
    fill: (limit: number) => Promise<readonly string[]>,
  ): Promise<void> {
    const line = this.#lines.get(route);
    if (line === undefined || line.tried) return;
    line.tried = true;
    try {
      for (;;) {
        if (line.ids.size === 0 && line.overflowed) {
          line.overflowed = false;
          const queued = await fill(this.#cap);
          // Whoever was not let in while the view was asked may not be in the answer.
          line.overflowed ||= queued.length >= this.#cap;
          for (const id of queued) line.ids.add(id);
        }
        const next = line.ids.values().next();
        if (next.done || !(await fits(next.value))) break;
        line.ids.delete(next.value);
      }
    } finally {
      line.tried = false;
      if (line.ids.size === 0 && !line.overflowed) this.#lines.delete(route);
    }
  }

  get routes(): readonly string[] {
    return [...this.#lines.keys()];
  }

  clear(): void {
    this.#lines.clear();
  }
}

interface Line {
  readonly ids: Set<string>;
  overflowed: boolean;
  tried: boolean;
}

/** Ids only; one query of the queue view brings as many again. */
const LINE_CAP = 64;

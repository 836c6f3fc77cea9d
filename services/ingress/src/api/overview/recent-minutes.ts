import { type Activity, MINUTE_MS } from '@angelia/event-log';

type Minutes = Pick<Activity, 'minutes' | 'minutesExact'>;

/** Views are rarely further behind the log than this. */
const VIEWS_LAG_MS = 15_000;
/** Erased sessions, and late writes of views that were far behind, show up after this time. */
const WHOLE_EVERY_MS = 60_000;

/**
 * Keeps the figures of past minutes, because they no longer change. The whole hour would be as many rows as the bounds of the
 * overview allow (100,000 sessions), read every few seconds beside the webhooks.
 */
export class RecentMinutes {
  #kept: Minutes | null = null;
  #wholeAt = Number.NEGATIVE_INFINITY;

  /** From where on to read them. */
  from(since: number, now: number): number {
    if (this.#kept === null || now - this.#wholeAt >= WHOLE_EVERY_MS || now < this.#wholeAt) return since;
    return Math.max(since, Math.floor((now - VIEWS_LAG_MS) / MINUTE_MS) * MINUTE_MS);
  }

  /** Takes what was read from there on, and returns all since `since`. */
  with(read: Minutes, { since, from, now }: { since: number; from: number; now: number }): Minutes {
    const whole = from === since;
    const older = whole ? [] : [...(this.#kept?.minutes ?? [])];
    if (whole) this.#wholeAt = now;
    this.#kept = {
      minutes: new Map([...older.filter(([minute]) => minute >= since && minute < from), ...read.minutes]),
      minutesExact: read.minutesExact && (whole || this.#kept?.minutesExact === true),
    };
    return this.#kept;
  }
}

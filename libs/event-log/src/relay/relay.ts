import { pause, type WakeUp } from '@angelia/waiting';
import type { EventHint } from '../append/hints-of.ts';
import { messageOf } from '../connection/postgres-errors.ts';
import type { EventLog } from '../event-log.ts';
import { Checkpoint } from '../tail/checkpoint.ts';
import { isAfter, type TailCursor } from '../tail/tail.ts';
import { EarlyHints } from './early-hints.ts';
import { readForRelay, type UnhintedEvent } from './read-for-relay.ts';

export interface RelayOptions {
  readonly log: EventLog;
  readonly leadEpoch: number;
  readonly signal: AbortSignal;
  /** The caller wakes it after a commit (the core NATS ping). */
  readonly wake: WakeUp;
  /** Resolves when the bus has all of them. Throws when the bus is away: then the same hints come again. */
  readonly publish: (hints: readonly EventHint[]) => Promise<unknown>;
}

const CHECKPOINT = 'relay';
/**
 * Between a commit and the pass that reads it. Whoever commits publishes its hints at once, so the relay has time: after
 * this long most events are acted upon, and a page holds many of the rest.
 */
const BEHIND_MS = 250;
/**
 * A pass that publishes so many hints means a flood: sessions wait for a runner, and their hints are only repeated. Then the
 * relay follows further behind, so that services act on more events before their hints are repeated.
 */
const FLOOD = 100;
const FLOOD_BEHIND_MS = 800;
/** When no ping comes: the bus is away, or the writer died between commit and ping. Rarer while nothing happens. */
const POLL_MS = 250;
/** A hint that is lost between commit and publish is made up for within a second. */
const IDLE_POLL_MS = 900;
const PAGE = 1_000;
/** How many hints may be out before their order is decided. The rest waits for the order, or for the sweep. */
const MAX_AHEAD = 10_000;
const FIRST_BACKOFF_MS = 50;
const LAST_BACKOFF_MS = 2_000;

/**
 * The log is the outbox. Whoever commits publishes the hints of its events itself, which may fail, or die on the way. The
 * relay follows behind: for every event that nobody acted upon yet it publishes the hint (again, with the same message
 * id), in the tail's order, and moves the checkpoint past what the bus has. A committed event whose order is not decided
 * yet (an older transaction is open) is hinted early, since a hint is harmless in any order, but the checkpoint stays
 * before it. Ends when another process leads or the signal aborts. An outage of the bus or of Postgres only delays it.
 */
export async function runRelay(options: RelayOptions): Promise<void> {
  const { log, leadEpoch, signal, wake } = options;
  const pool = log.database.relaxed;
  const early = new EarlyHints();
  const checkpoint = new Checkpoint(pool, CHECKPOINT, leadEpoch);
  let cursor: TailCursor | null = null;
  let saved: TailCursor | null = null;
  let backoff = 0;
  let pollMs = POLL_MS;
  let behindMs = BEHIND_MS;

  /** Publishes what wants a hint after `from`. Returns the place that it has passed. */
  async function pass(from: TailCursor): Promise<TailCursor> {
    let page = await readForRelay(pool, from, PAGE);
    behindMs = page.events.length < FLOOD ? BEHIND_MS : FLOOD_BEHIND_MS;
    // Of the first page: what becomes visible between two pages may lie before the second one.
    const end = page.end !== null && isAfter(page.end, from) ? page.end : from;
    for (;;) {
      const wanting = page.events.filter((event) => !early.has(event));
      if (wanting.length > 0) await options.publish(wanting.map(({ hint }) => hint));
      for (const event of wanting) if (isAfter(event.cursor, end)) early.add(event);
      if (page.events.length < PAGE) return end;
      const after = (page.events.at(-1) as UnhintedEvent).cursor;
      if (early.size >= MAX_AHEAD || signal.aborted) return isAfter(after, end) ? end : after;
      page = await readForRelay(pool, after, PAGE);
    }
  }

  /** False if another process leads. */
  async function save(): Promise<boolean> {
    if (cursor === null || cursor === saved) return true;
    const moving = cursor;
    if (!(await checkpoint.moveTo(moving))) return false;
    saved = moving;
    return true;
  }

  while (!signal.aborted) {
    try {
      if (cursor === null) {
        cursor = saved = await checkpoint.claim();
        if (cursor === null) return;
      }
      const passed = await pass(cursor);
      const moved = isAfter(passed, cursor);
      if (moved) cursor = passed;
      early.forgetUpTo(cursor);
      backoff = 0;
      if (!(await save())) return;
      const woken = await wake.wait(moved ? POLL_MS : pollMs, signal);
      pollMs = woken || moved || early.size > 0 ? POLL_MS : Math.min(pollMs * 2, IDLE_POLL_MS);
      if (woken) await pause(behindMs, signal);
    } catch (error) {
      if (backoff === 0) log.logger.warn({ err: messageOf(error) }, 'relay failed; will try again');
      backoff = Math.min(Math.max(FIRST_BACKOFF_MS, backoff * 2), LAST_BACKOFF_MS);
      await pause(backoff, signal);
    }
  }
  await save().catch(() => {}); // The next leader repeats the last few hints.
}

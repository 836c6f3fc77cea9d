import type { Hint } from '@angelia/contracts';
import { pause, type WakeUp } from '@angelia/waiting';
import { messageOf } from '../connection/postgres-errors.ts';
import type { EventLog } from '../event-log.ts';
import { Checkpoint } from '../tail/checkpoint.ts';
import type { TailCursor } from '../tail/tail.ts';
import { EarlyHints } from './early-hints.ts';
import { type RelayEvent, readForRelay } from './read-for-relay.ts';

export type RelayedHint = Hint & { readonly eventId: string };

export interface RelayOptions {
  readonly log: EventLog;
  readonly leadEpoch: number;
  readonly signal: AbortSignal;
  /** The caller wakes it after a commit (the core NATS ping). */
  readonly wake: WakeUp;
  /** Resolves when the bus has all of them. Throws when the bus is away: then the same hints come again. */
  readonly publish: (hints: readonly RelayedHint[]) => Promise<unknown>;
}

const CHECKPOINT = 'relay';
/** When no ping comes (bus away, or the writer died between commit and ping). Rarer while nothing happens. */
const POLL_MS = 250;
/** A hint that is lost between commit and publish is made up for within a second. */
const IDLE_POLL_MS = 900;
const PAGE = 1_000;
/** How many hints may be out before their order is decided. The rest waits for the order, or for the sweep. */
const MAX_AHEAD = 10_000;
/** While a foreign transaction holds back this many, every pass reads them again. Then the relay does not run on every ping. */
const MANY_AHEAD = 200;
const MANY_AHEAD_PAUSE_MS = 50;
/** How often the checkpoint is written. A crash repeats hints, and the bus drops those with the same event id. */
const SAVE_MS = 20;
/** A page of this size means load: a pause lets the next page fill, which saves two thirds of the reads at 1,000 sessions/s. */
const BUSY_PAGE = 15;
const BUSY_PAUSE_MS = 3;
/** A page of this size means a flood, in which a hint waits longer for capacity at its service than for the relay. */
const FLOOD_PAGE = 30;
const FLOOD_PAUSE_MS = 12;
const FIRST_BACKOFF_MS = 50;
const LAST_BACKOFF_MS = 2_000;

/**
 * The log is the outbox. The relay publishes a hint for every event that somebody may wait for, in the tail's order, and
 * moves the checkpoint past what the bus has. A committed event whose order is not decided yet (an older transaction is
 * open) is hinted early, since a hint is harmless in any order, but the checkpoint stays before it. Ends when another
 * process leads or the signal aborts. An outage of the bus or of Postgres only delays it.
 */
export async function runRelay(options: RelayOptions): Promise<void> {
  const { log, leadEpoch, signal, wake } = options;
  const pool = log.database.relaxed;
  const early = new EarlyHints();
  const checkpoint = new Checkpoint(pool, CHECKPOINT, leadEpoch);
  let cursor: TailCursor | null = null;
  let saved: TailCursor | null = null;
  let savedAt = 0;
  let backoff = 0;
  let pauseMs = 0;
  let pollMs = POLL_MS;
  // While nothing happens the checkpoint also moves past events that are not hinted: pruning stops at it.
  let idle = true;

  /** True if there is more to read at once. */
  async function pass(from: TailCursor): Promise<boolean> {
    let page = await readForRelay(pool, from, PAGE, { all: idle });
    await hint(page);
    pauseMs = pauseAfter(page.length - early.size);
    early.note(page);
    cursor = page.findLast((event) => event.visible)?.cursor ?? cursor;
    if (page.length === PAGE && page.at(-1)?.visible) return true;
    while (page.length === PAGE && early.size < MAX_AHEAD && !signal.aborted) {
      page = await readForRelay(pool, (page.at(-1) as RelayEvent).cursor, PAGE, { all: false });
      await hint(page);
      early.noteBeyondCursor(page);
    }
    return false;
  }

  async function hint(events: readonly RelayEvent[]): Promise<void> {
    const hints = early.unhinted(events).map(toHint);
    if (hints.length === 0) return;
    await options.publish(hints);
  }

  /** False if another process leads. */
  async function save(): Promise<boolean> {
    if (cursor === null || cursor === saved) return true;
    savedAt = performance.now();
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
      const before = cursor;
      const more = await pass(cursor);
      backoff = 0;
      pollMs = idle && cursor === before && early.size === 0 ? Math.min(pollMs * 2, IDLE_POLL_MS) : POLL_MS;
      const sinceSaved = performance.now() - savedAt;
      if (sinceSaved >= SAVE_MS && !(await save())) return;
      if (more) continue;
      idle = !(await wake.wait(cursor === saved ? pollMs : Math.max(1, SAVE_MS - sinceSaved), signal));
      if (early.size > MANY_AHEAD) await pause(MANY_AHEAD_PAUSE_MS, signal);
      else if (pauseMs > 0) await pause(pauseMs, signal);
    } catch (error) {
      if (backoff === 0) log.logger.warn({ err: messageOf(error) }, 'relay failed; will try again');
      backoff = Math.min(Math.max(FIRST_BACKOFF_MS, backoff * 2), LAST_BACKOFF_MS);
      await pause(backoff, signal);
    }
  }
  await save().catch(() => {}); // The next leader repeats the last few hints.
}

function pauseAfter(events: number): number {
  if (events >= FLOOD_PAGE) return FLOOD_PAUSE_MS;
  return events >= BUSY_PAGE ? BUSY_PAUSE_MS : 0;
}

function toHint(event: RelayEvent): RelayedHint {
  return {
    stream_id: event.streamId,
    version: event.version,
    type: event.type,
    eventId: event.eventId,
    ...(event.traceparent === null ? {} : { traceparent: event.traceparent }),
  };
}

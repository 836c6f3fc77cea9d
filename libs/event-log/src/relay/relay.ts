import type { Hint } from '@angelia/contracts';
import { pause, type WakeUp } from '@angelia/waiting';
import { messageOf } from '../connection/postgres-errors.ts';
import type { EventLog } from '../event-log.ts';
import { claimCheckpoint, moveCheckpoint } from '../tail/checkpoints.ts';
import { type AheadEvent, readAhead } from '../tail/tail.ts';
import type { TailCursor } from '../tail/tail-cursor.ts';
import { HintedAhead } from './early-hints.ts';

export type RelayedHint = Hint & { readonly eventId: string };

export interface RelayOptions {
  readonly log: EventLog;
  readonly leadEpoch: number;
  readonly signal: AbortSignal;
  /** Rung by the caller after a commit (the core NATS ping). */
  readonly wake: WakeUp;
  /** Resolves when the bus has all of them. Throws when it is away: then the same hints come again. */
  readonly publish: (hints: readonly RelayedHint[]) => Promise<unknown>;
}

export const RELAY_CHECKPOINT = 'relay';
/** The floor when no ping comes (bus away, or the writer died between commit and ping): rarer while nothing happens. */
const POLL_MS = 250;
/** Below the second within which a hint that was lost between commit and publish is made up for. */
const IDLE_POLL_MS = 900;
const PAGE = 1_000;
/** Hints that may be out before their order is decided. Beyond, the rest waits for the order, or for the sweep. */
const MAX_AHEAD = 10_000;
/** While that many are held back by a foreign transaction they are read again on every pass: then not on every ping. */
const MANY_AHEAD = 200;
const MANY_AHEAD_PAUSE_MS = 50;
/** The checkpoint is worth a write this often; a crash repeats hints, and the bus drops what has the same event id. */
const SAVE_MS = 20;
/** After a page like this there is load: a pause lets the next one gather, for a third of the reads at 1,000 sessions/s. */
const BUSY_PAGE = 15;
const BUSY_PAUSE_MS = 3;
/** And after one like this there is a flood, in which a hint waits for a place at its service longer than for us. */
const FLOOD_PAGE = 30;
const FLOOD_PAUSE_MS = 12;
const FIRST_BACKOFF_MS = 50;
const LAST_BACKOFF_MS = 2_000;

/**
 * The log is the outbox: publishes a hint for every event that somebody may wait for, in the tail's order, and moves the checkpoint over what the
 * bus has. A committed event whose order is still open (an older transaction is) is hinted ahead, since a hint is
 * harmless in any order, but the checkpoint stays before it. Ends when another leads or the signal aborts; an outage of
 * the bus or of Postgres only delays it.
 */
export async function runRelay(options: RelayOptions): Promise<void> {
  const { log, leadEpoch, signal, wake } = options;
  const lane = log.database.relaxed;
  const ahead = new HintedAhead();
  let cursor: TailCursor | null = null;
  let saved: TailCursor | null = null;
  let savedAt = 0;
  let backoff = 0;
  let pauseMs = 0;
  let pollMs = POLL_MS;
  // When nothing happens the checkpoint goes past what is not hinted, too: pruning stops at it.
  let idle = true;

  /** True when there is more to read at once. */
  async function pass(from: TailCursor): Promise<boolean> {
    let page = await readAhead(lane, from, PAGE, { all: idle });
    await hint(page);
    pauseMs = pauseAfter(page.length - ahead.size);
    ahead.note(page);
    cursor = page.findLast((event) => event.visible)?.cursor ?? cursor;
    if (page.length === PAGE && page.at(-1)?.visible) return true;
    while (page.length === PAGE && ahead.size < MAX_AHEAD && !signal.aborted) {
      page = await readAhead(lane, (page.at(-1) as AheadEvent).cursor, PAGE, { all: false });
      await hint(page);
      ahead.noteBeyondCursor(page);
    }
    return false;
  }

  async function hint(events: readonly AheadEvent[]): Promise<void> {
    const hints = ahead.unhinted(events).map(toHint);
    if (hints.length === 0) return;
    await options.publish(hints);
  }

  /** False when another leads. */
  async function save(): Promise<boolean> {
    if (cursor === null || cursor === saved) return true;
    savedAt = performance.now();
    const moving = cursor;
    if (!(await moveCheckpoint(lane, RELAY_CHECKPOINT, leadEpoch, moving))) return false;
    saved = moving;
    return true;
  }

  while (!signal.aborted) {
    try {
      if (cursor === null) {
        cursor = saved = await claimCheckpoint(lane, RELAY_CHECKPOINT, leadEpoch);
        if (cursor === null) return;
      }
      const before = cursor;
      const more = await pass(cursor);
      backoff = 0;
      pollMs = idle && cursor === before && ahead.size === 0 ? Math.min(pollMs * 2, IDLE_POLL_MS) : POLL_MS;
      const sinceSaved = performance.now() - savedAt;
      if (sinceSaved >= SAVE_MS && !(await save())) return;
      if (more) continue;
      idle = !(await wake.wait(cursor === saved ? pollMs : Math.max(1, SAVE_MS - sinceSaved), signal));
      if (ahead.size > MANY_AHEAD) await pause(MANY_AHEAD_PAUSE_MS, signal);
      else if (pauseMs > 0) await pause(pauseMs, signal);
    } catch (error) {
      if (backoff === 0) log.logger.warn({ err: messageOf(error) }, 'the relay cannot go on: trying again');
      backoff = Math.min(Math.max(FIRST_BACKOFF_MS, backoff * 2), LAST_BACKOFF_MS);
      await pause(backoff, signal);
    }
  }
  await save().catch(() => {}); // The next leader hints the last few again.
}

function pauseAfter(events: number): number {
  if (events >= FLOOD_PAGE) return FLOOD_PAUSE_MS;
  return events >= BUSY_PAGE ? BUSY_PAUSE_MS : 0;
}

function toHint(event: AheadEvent): RelayedHint {
  return {
    stream_id: event.streamId,
    version: event.version,
    type: event.type,
    eventId: event.eventId,
    ...(event.traceparent === null ? {} : { traceparent: event.traceparent }),
  };
}

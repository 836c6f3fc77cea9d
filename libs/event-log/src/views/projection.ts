import { pause, untilTick, type WakeUp } from '@angelia/waiting';
import { messageOf } from '../connection/postgres-errors.ts';
import { prepare, queries } from '../connection/query-builder.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import { NotMigrated } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import { Checkpoint } from '../tail/checkpoint.ts';
import type { Tail, TailCursor, TailEvent, TailPage } from '../tail/tail.ts';
import { viewsCheckpoint } from './build-names.ts';
import { PageProjector } from './page-projector.ts';
import type { Measured, ProjectSession } from './session-views.ts';

interface ProjectionOptions {
  readonly log: EventLog;
  readonly leadEpoch: number;
  readonly signal: AbortSignal;
  /** The caller wakes it after a commit. Not shared with the relay. */
  readonly wake: WakeUp;
  readonly project: ProjectSession;
  /** Called with what the projection measured, once its rows are committed. Each event at most once, also across leaders. */
  readonly onProjected?: (measured: readonly Measured[]) => void;
}

/** What is read at once: some megabytes. */
export const PAGE = 2_000;
/**
 * What is computed and written at once in a flood. A session has some eight events. If they fall into different writes, the row
 * of the session is written each time, which costs Postgres more than the events themselves (docs/bench.md).
 */
const MOST_EVENTS = 4 * PAGE;
/**
 * When no ping comes, or one comes before its event is visible. Rarer while nothing happens: then only the events of a
 * process that died before its ping, or committed while NATS was away, wait this long for their place in the lists.
 */
const POLL_MS = 250;
const IDLE_POLL_MS = 4_000;
/**
 * Events of one session come in bursts: a short wait turns many writes of its row into one. Lists are behind by that
 * much. What must be current is folded from the stream.
 */
const GATHER_MS = 20;
/** Between pages. Most sessions live shorter than this, so their rows are written once or twice, not five times. */
const SPACING_MS = 120;
/**
 * A page of this size means a flood (more than 50 sessions/s). Then the views take a tenth of the time, so that the
 * sessions themselves get the rest, and the pauses are as long as that needs.
 */
const FLOOD_PAGE = 50;
const PAUSE_PER_WORK = 9;
/** Lists are behind by at most this much and the time of one write. */
const LONGEST_SPACING_MS = 800;
/** Between two checks for sessions to project again. */
const REPLAY_MS = 4_000;
const FIRST_BACKOFF_MS = 50;
const LAST_BACKOFF_MS = 2_000;

const ACTIVE_BUILD = prepare('active_build', () =>
  queries
    .selectFrom('angelia.view_builds')
    .select(['build', 'version'])
    .where((where) => where.ref('active')),
);

/**
 * Keeps the active build of the views up with the tail while this process leads. When the fence holds, either a rebuild
 * has switched (then it goes on in the new build, from that build's checkpoint) or another process leads (then it ends).
 * Outages only delay it.
 */
export async function runProjection(options: ProjectionOptions): Promise<void> {
  const { log, leadEpoch, signal, wake } = options;
  const pool = log.database.relaxed;
  let backoff = 0;
  let replayedAt = 0;
  let pollMs = POLL_MS;
  let place: { cursor: TailCursor; projector: PageProjector } | null = null;

  while (!signal.aborted) {
    try {
      if (place === null) {
        const active = (await pool.runPrepared(ACTIVE_BUILD, {}))[0];
        if (active === undefined) throw new Error('no build of the views is active: run migrate');
        if (active.version > VIEWS_VERSION) {
          // Rows of ours would lack what the newer version needs. During a rolling upgrade a newer process leads soon.
          log.logger.warn(
            active,
            'a newer version made the views: not projecting (after a rollback: angelia rebuild)',
          );
          return;
        }
        const cursor = await new Checkpoint(pool, viewsCheckpoint(active), leadEpoch).claim();
        if (cursor === null) return;
        place = {
          cursor,
          projector: new PageProjector(
            pool,
            { ...active, leadEpoch, whileActive: true },
            options.project,
            options.onProjected,
          ),
        };
      }
      if (performance.now() - replayedAt >= REPLAY_MS) {
        replayedAt = performance.now();
        if (!(await place.projector.replay())) place = null;
        if (place === null) continue;
      }
      const startedAt = performance.now();
      const page = await gather(log.tail, place.cursor);
      backoff = 0;
      if (page.events.length === 0) {
        const woken = await wake.wait(untilTick(pollMs), signal);
        pollMs = woken ? POLL_MS : Math.min(pollMs * 2, IDLE_POLL_MS);
        if (woken) await pause(GATHER_MS, signal);
        continue;
      }
      pollMs = POLL_MS;
      place = (await place.projector.apply(page)) ? { ...place, cursor: page.next } : null;
      if (!page.more) await pause(spacingAfter(page.events.length, performance.now() - startedAt), signal);
    } catch (error) {
      if (error instanceof NotMigrated && place !== null) {
        place = null; // A rebuild has switched and dropped our build: go on in the new one.
        continue;
      }
      if (backoff === 0) log.logger.warn({ err: messageOf(error) }, 'projection failed; will try again');
      backoff = Math.min(Math.max(FIRST_BACKOFF_MS, backoff * 2), LAST_BACKOFF_MS);
      // The last write may or may not have happened, so what was remembered may be wrong: start from the checkpoint.
      place = null;
      await pause(backoff, signal);
    }
  }
}

interface GatheredPage extends TailPage {
  /** There is probably more to read now. */
  readonly more: boolean;
}

/** The events after this place: in a flood more than one page of them. */
async function gather(tail: Tail, after: TailCursor): Promise<GatheredPage> {
  const events: TailEvent[] = [];
  for (let next = after; ; ) {
    const page = await tail.read(next, PAGE, { data: true });
    for (const event of page.events) events.push(event);
    next = page.next;
    const more = page.events.length === PAGE;
    if (!more || events.length >= MOST_EVENTS) return { events, next, more };
  }
}

/** The pause after a page of this size that took this long. */
export function spacingAfter(events: number, workMs: number): number {
  if (events < FLOOD_PAGE) return SPACING_MS;
  return Math.min(Math.max(SPACING_MS, workMs * PAUSE_PER_WORK), LONGEST_SPACING_MS);
}

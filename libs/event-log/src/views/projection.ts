import { pause, type WakeUp } from '@angelia/waiting';
import { viewsCheckpoint } from '../admin/view-builds.ts';
import type { Statement } from '../connection/database.ts';
import { messageOf } from '../connection/postgres-errors.ts';
import { NotMigrated } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import { claimCheckpoint } from '../tail/checkpoints.ts';
import { readTail } from '../tail/tail.ts';
import type { TailCursor } from '../tail/tail-cursor.ts';
import { PageProjector } from './page-projector.ts';
import type { Measured, ProjectSession } from './session-views.ts';

export interface ProjectionOptions {
  readonly log: EventLog;
  readonly leadEpoch: number;
  readonly signal: AbortSignal;
  /** Rung by the caller after a commit. A bell of its own: the relay's is not shared. */
  readonly wake: WakeUp;
  readonly project: ProjectSession;
  /** What the projection measured, once its rows are committed: each event at most once, also across leaders. */
  readonly onProjected?: (measured: readonly Measured[]) => void;
}

/** A page is read, computed and written in one go: some tens of milliseconds, some megabytes. */
export const PAGE = 2_000;
/** The floor when no ping comes, or one comes before its event can be seen: rarer while nothing happens, as the relay's. */
const POLL_MS = 250;
const IDLE_POLL_MS = 900;
/**
 * Events of one session come in bursts: a few milliseconds of patience turn many writes of its row into one. Lists may
 * be that much older; what must be right now is folded from the stream.
 */
const GATHER_MS = 20;
/** Between pages under load: most sessions live shorter than this, so that their rows are written once or twice, not five times. */
const SPACING_MS = 120;
/** Between two looks for sessions that are to be projected again. */
const REPLAY_MS = 2_000;
const FIRST_BACKOFF_MS = 50;
const LAST_BACKOFF_MS = 2_000;

const ACTIVE: Statement = {
  name: 'active_build',
  text: 'SELECT build FROM angelia.view_builds WHERE active',
};

/**
 * Keeps the active build of the views up with the tail, while this process leads. When the fence holds, either a
 * rebuild has switched (then it goes on in the new build, from that one's checkpoint) or another leads (then it ends).
 * Outages only delay it.
 */
export async function runProjection(options: ProjectionOptions): Promise<void> {
  const { log, leadEpoch, signal, wake } = options;
  const lane = log.database.relaxed;
  let backoff = 0;
  let replayedAt = 0;
  let pollMs = POLL_MS;
  let place: { cursor: TailCursor; projector: PageProjector } | null = null;

  while (!signal.aborted) {
    try {
      if (place === null) {
        const build = (await lane.query(ACTIVE, []))[0]?.[0] as number | undefined;
        if (build === undefined) throw new Error('no build of the views is active: run migrate');
        const cursor = await claimCheckpoint(lane, viewsCheckpoint(build), leadEpoch);
        if (cursor === null) return;
        place = {
          cursor,
          projector: new PageProjector(
            lane,
            { build, leadEpoch, whileActive: true },
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
      const page = await readTail(lane, place.cursor, PAGE, { data: true });
      backoff = 0;
      if (page.events.length === 0) {
        const rung = await wake.wait(pollMs, signal);
        pollMs = rung ? POLL_MS : Math.min(pollMs * 2, IDLE_POLL_MS);
        if (rung) await pause(GATHER_MS, signal);
        continue;
      }
      pollMs = POLL_MS;
      place = (await place.projector.apply(page)) ? { ...place, cursor: page.next } : null;
      if (page.events.length < PAGE) await pause(SPACING_MS, signal);
    } catch (error) {
      if (error instanceof NotMigrated && place !== null) {
        place = null; // A rebuild has switched and dropped the build under us: go on in the new one.
        continue;
      }
      if (backoff === 0)
        log.logger.warn({ err: messageOf(error) }, 'the projection cannot go on: trying again');
      backoff = Math.min(Math.max(FIRST_BACKOFF_MS, backoff * 2), LAST_BACKOFF_MS);
      // What was remembered may be what a write with a lost answer made of it, or not: begin from the checkpoint.
      place = null;
      await pause(backoff, signal);
    }
  }
}

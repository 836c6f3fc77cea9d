import { isSessionId, type RecordedEvent } from '@angelia/contracts';
import { textArray } from '../connection/binary-array.ts';
import type { ConnectionPool } from '../connection/connection-pool.ts';
import { messageOf } from '../connection/postgres-errors.ts';
import { DeadLetters } from '../diagnostics/dead-letters.ts';
import { UnstorableEvent } from '../errors.ts';
import { StreamReader } from '../read/stream-reader.ts';
import type { TailEvent, TailPage } from '../tail/tail.ts';
import { viewsSchema } from './build-names.ts';
import type { Measured, ProjectSession } from './session-views.ts';
import { type ProjectedSession, toRows, type ViewsFence, writeViews } from './write-views.ts';

/** Sessions at work occur again in the next pages. Their last state, as JSON text, is remembered and not read back. */
const MAX_REMEMBERED = 2_000;

/**
 * Sessions that are computed in one turn of the event loop: a few milliseconds. The leader also delivers or answers
 * webhooks.
 */
const SESSIONS_PER_TURN = 50;

/** The handler's name in dead letters. */
const HANDLER = 'projection';

/**
 * Turns pages of the tail into rows of the views. All reading and computing comes first, outside any transaction, because
 * an open writing transaction hides the tail from everybody. Then one statement, which holds its xid only while it runs,
 * writes rows and checkpoint, guarded by the fence.
 */
export class PageProjector {
  readonly #remembered = new Map<string, { version: number; state: string }>();
  readonly #streams: StreamReader;
  readonly #deadLetters: DeadLetters;
  readonly #pool: ConnectionPool;
  readonly #fence: ViewsFence;
  readonly #project: ProjectSession;
  readonly #onProjected: (measured: readonly Measured[]) => void;

  constructor(
    pool: ConnectionPool,
    fence: ViewsFence,
    project: ProjectSession,
    onProjected: (measured: readonly Measured[]) => void = () => {},
  ) {
    this.#pool = pool;
    this.#fence = fence;
    this.#project = project;
    this.#onProjected = onProjected;
    this.#streams = new StreamReader(pool);
    this.#deadLetters = new DeadLetters(pool);
  }

  /** False: the fence held, and nothing was changed. */
  async apply(page: TailPage): Promise<boolean> {
    const bySession = groupBySession(page.events);
    const known = await this.#load([...bySession].filter(([, events]) => !isWhole(events)).map(([id]) => id));
    const projected: (ProjectedSession & { readonly measured: readonly Measured[] })[] = [];
    for (const [sessionId, events] of bySession) {
      const previous = known.get(sessionId);
      const fresh = events.filter((event) => event.version > (previous?.version ?? 0));
      if (fresh.length === 0) continue;
      const row = await this.#projectOne(sessionId, previous, fresh);
      if (row) projected.push(row);
      if (projected.length % SESSIONS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    if (!(await this.#write(page, projected))) return false;
    for (const row of projected) this.#remember(row);
    const measured = projected.flatMap((row) => row.measured);
    if (measured.length > 0) this.#onProjected(measured);
    return true;
  }

  /** Projects the sessions again that failed before and that somebody asked to retry. False: the fence held. */
  async replay(): Promise<boolean> {
    for (const { id, streamId } of await this.#deadLetters.requestedReplays(HANDLER)) {
      const events = await this.#streams.read({ streamId, fromVersion: 1 });
      const row = events.length === 0 ? null : await this.#projectOne(streamId, undefined, events);
      if (row !== null) {
        if (!(await writeViews(this.#pool, this.#fence, null, [row]))) return false;
        this.#remember(row);
      }
      await this.#deadLetters.forgetReplayed(id);
    }
    return true;
  }

  async #projectOne(
    sessionId: string,
    previous: { version: number; state: string } | undefined,
    fresh: readonly RecordedEvent[],
  ): Promise<(ProjectedSession & { readonly measured: readonly Measured[] }) | null> {
    const follows = fresh[0]?.version === (previous?.version ?? 0) + 1;
    // A dead letter leaves a gap. The whole stream is projected again, in case this program can.
    const events = follows ? fresh : await this.#streams.read({ streamId: sessionId, fromVersion: 1 });
    const version = (events.at(-1) ?? fresh.at(-1))?.version ?? 0;
    try {
      const views = this.#project(follows && previous ? JSON.parse(previous.state) : null, events);
      const seen = previous?.version ?? 0;
      return {
        ...toRows(sessionId, version, views),
        // When a whole stream is projected again, only what was not counted before.
        measured: (views.measured ?? []).filter((measured) => measured.version > seen),
      };
    } catch (error) {
      await this.#recordFailure(sessionId, version, error);
      return null;
    }
  }

  /** Postgres may refuse a value that passed our checks. Then each session is written alone, and only the bad one is a dead letter. */
  async #write(page: TailPage, projected: readonly ProjectedSession[]): Promise<boolean> {
    try {
      return await writeViews(this.#pool, this.#fence, page.next, projected);
    } catch (error) {
      if (!(error instanceof UnstorableEvent)) throw error;
      for (const row of projected) {
        try {
          if (!(await writeViews(this.#pool, this.#fence, null, [row]))) return false;
        } catch (refused) {
          if (!(refused instanceof UnstorableEvent)) throw refused;
          await this.#recordFailure(row.sessionId, row.version, refused);
        }
      }
      return writeViews(this.#pool, this.#fence, page.next, []);
    }
  }

  async #recordFailure(streamId: string, version: number, error: unknown): Promise<void> {
    this.#remembered.delete(streamId);
    await this.#deadLetters.record({ streamId, version, handler: HANDLER, reason: messageOf(error) });
  }

  async #load(sessionIds: readonly string[]): Promise<Map<string, { version: number; state: string }>> {
    const known = new Map<string, { version: number; state: string }>();
    const missing: string[] = [];
    for (const id of sessionIds) {
      const remembered = this.#remembered.get(id);
      if (remembered) known.set(id, remembered);
      else missing.push(id);
    }
    if (missing.length === 0) return known;
    const { build } = this.#fence;
    const rows = await this.#pool.query(
      {
        name: `load_states_${build}`,
        text: `SELECT s.session_id, s.version, s.state::text FROM unnest($1::text[]) AS i(id)
               JOIN LATERAL (SELECT * FROM ${viewsSchema(build)}.sessions s WHERE s.session_id = i.id LIMIT 1) s ON true`,
      },
      [textArray(missing)],
    );
    for (const [id, version, state] of rows) {
      known.set(id as string, { version: version as number, state: state as string });
    }
    return known;
  }

  #remember(row: ProjectedSession): void {
    this.#remembered.delete(row.sessionId);
    if (row.session.settled) return;
    this.#remembered.set(row.sessionId, { version: row.version, state: row.state });
    if (this.#remembered.size > MAX_REMEMBERED) {
      const oldest = this.#remembered.keys().next();
      if (!oldest.done) this.#remembered.delete(oldest.value);
    }
  }
}

/** From the start of the stream: nothing older is needed, and a new session has no row to look up. */
function isWhole(events: readonly TailEvent[]): boolean {
  return events[0]?.version === 1;
}

/** Streams that are not sessions have no row in these views. */
function groupBySession(events: readonly TailEvent[]): Map<string, TailEvent[]> {
  const groups = new Map<string, TailEvent[]>();
  for (const event of events) {
    if (!isSessionId(event.streamId)) continue;
    const group = groups.get(event.streamId);
    if (group) group.push(event);
    else groups.set(event.streamId, [event]);
  }
  return groups;
}

import { sql } from 'kysely';
import { toStorable } from '../append/storable.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import { milliseconds, prepare, queries } from '../connection/query-builder.ts';
import { type Count, MOST_COUNTED } from '../read/page.ts';

interface NewDeadLetter {
  readonly streamId: string;
  readonly version: number;
  /** The handler that cannot process it, e.g. `projection`, `agent-runner`. */
  readonly handler: string;
  readonly reason: string;
  readonly payload?: unknown;
}

export interface DeadLetter extends NewDeadLetter {
  readonly id: number;
  readonly recordedAt: number;
}

interface DeadLetterFilter {
  readonly handler?: string | undefined;
  readonly streamId?: string | undefined;
  /** Recorded at this time or later, in milliseconds. */
  readonly since?: number | undefined;
  /** Recorded before this time. */
  readonly until?: number | undefined;
}

interface DeadLetterPage extends DeadLetterFilter {
  readonly limit: number;
  /** Only those older than this id. */
  readonly before?: number | undefined;
  readonly id?: number | undefined;
}

/** The same event and handler are the same letter: a redelivered hint must not fill the table. */
const RECORD: Statement = {
  name: 'record_dead_letter',
  text: `INSERT INTO angelia.dead_letters (stream_id, version, handler, reason, payload)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (stream_id, version, handler)
         DO UPDATE SET reason = EXCLUDED.reason, payload = EXCLUDED.payload, recorded_at = clock_timestamp(),
           replay_requested_at = NULL`,
};

const REPLAYS_AT_ONCE = 100;

/** Asked every few seconds by the leader of the projection. */
const REQUESTED_REPLAYS = prepare('requested_dead_letters', (given: { handler: string }) =>
  queries
    .selectFrom('angelia.dead_letters')
    .select(['id', 'stream_id'])
    .where('handler', '=', given.handler)
    .where('replay_requested_at', 'is not', null)
    .orderBy('id')
    .limit(REPLAYS_AT_ONCE),
);

/** Events that a handler can never process. An outage is not a reason: throw, and the hint comes again. */
export class DeadLetters {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async record(letter: NewDeadLetter): Promise<void> {
    const payload = letter.payload === undefined ? null : JSON.stringify(toStorable(letter.payload));
    const { streamId, version, handler, reason } = letter;
    await this.#pool.query(RECORD, [streamId, version, handler, toStorable(reason), payload]);
  }

  /** Newest first. */
  async list(filter: DeadLetterPage): Promise<DeadLetter[]> {
    let query = lettersBy(filter)
      .select(['id', 'stream_id', 'version', 'handler', 'reason', 'payload'])
      .select(milliseconds('recorded_at').as('recorded_at'))
      .orderBy('id', 'desc')
      .limit(filter.limit);
    if (filter.before !== undefined) query = query.where('id', '<', filter.before);
    if (filter.id !== undefined) query = query.where('id', '=', filter.id);
    return (await this.#pool.run(query)).map((row) => ({
      id: row.id,
      streamId: row.stream_id,
      version: row.version,
      handler: row.handler,
      reason: row.reason,
      payload: row.payload ?? undefined,
      recordedAt: Math.round(row.recorded_at),
    }));
  }

  async count(filter: DeadLetterFilter): Promise<Count> {
    const found = lettersBy(filter)
      .select('id')
      .limit(MOST_COUNTED + 1);
    const query = queries.selectFrom(found.as('d')).select(sql<number>`count(*)::int`.as('count'));
    const count = (await this.#pool.run(query))[0]?.count ?? 0;
    return { count: Math.min(count, MOST_COUNTED), exact: count <= MOST_COUNTED };
  }

  /**
   * For a letter of the projection: its leader tries again within some seconds, and a failure is a new letter with a new
   * reason. For a letter of a service, the caller publishes the hint and then forgets the letter.
   */
  async requestReplay(id: number): Promise<void> {
    await this.#pool.run(
      queries
        .updateTable('angelia.dead_letters')
        .set({ replay_requested_at: sql<Date>`clock_timestamp()` })
        .where('id', '=', id),
    );
  }

  async requestedReplays(handler: string): Promise<{ readonly id: number; readonly streamId: string }[]> {
    const rows = await this.#pool.runPrepared(REQUESTED_REPLAYS, { handler });
    return rows.map((row) => ({ id: row.id, streamId: row.stream_id }));
  }

  async forget(id: number): Promise<void> {
    await this.#pool.run(queries.deleteFrom('angelia.dead_letters').where('id', '=', id));
  }

  /** After a replay. If it failed again, the letter is new and nobody has asked for it yet: that one stays. */
  async forgetReplayed(id: number): Promise<void> {
    await this.#pool.run(
      queries
        .deleteFrom('angelia.dead_letters')
        .where('id', '=', id)
        .where('replay_requested_at', 'is not', null),
    );
  }
}

function lettersBy({ handler, streamId, since, until }: DeadLetterFilter) {
  let query = queries.selectFrom('angelia.dead_letters');
  if (handler !== undefined) query = query.where('handler', '=', handler);
  if (streamId !== undefined) query = query.where('stream_id', '=', streamId);
  if (since !== undefined) query = query.where('recorded_at', '>=', new Date(since));
  if (until !== undefined) query = query.where('recorded_at', '<', new Date(until));
  return query;
}

import { BatchReader } from '../connection/batch-reader.ts';
import { textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';

export interface ConsoleSession {
  /** As events name whoever uses the session. */
  readonly actor: string;
  readonly expiresAt: number;
}

/** More questions at once wait for the next query. */
const READS_AT_ONCE = 64;

const FIND: Statement = {
  name: 'find_console_sessions',
  text: `SELECT s.actor, date_part('epoch', s.expires_at) * 1000
         FROM unnest($1::text[]) WITH ORDINALITY AS q(digest, n)
         LEFT JOIN angelia.console_sessions s
           ON s.digest = q.digest AND s.revoked_at IS NULL AND s.expires_at > clock_timestamp()
         ORDER BY q.n`,
};

const OPEN: Statement = {
  name: 'open_console_session',
  text: `INSERT INTO angelia.console_sessions (digest, actor, expires_at)
         VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
         RETURNING actor, date_part('epoch', expires_at) * 1000`,
};

const REVOKE: Statement = {
  name: 'revoke_console_session',
  text: `UPDATE angelia.console_sessions SET revoked_at = clock_timestamp()
         WHERE digest = $1 AND revoked_at IS NULL`,
};

const ADD_LINK: Statement = {
  name: 'add_console_link',
  text: `INSERT INTO angelia.console_links (digest, actor, expires_at)
         VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
         RETURNING date_part('epoch', expires_at) * 1000`,
};

/**
 * The row lock decides between two replicas that get the same link at once: the second one waits, finds `used_at` set, and
 * opens nothing. Link and session are one statement, so no crash can use up a link for nothing.
 */
const TAKE_LINK: Statement = {
  name: 'take_console_link',
  text: `WITH taken AS (
           UPDATE angelia.console_links SET used_at = clock_timestamp()
           WHERE digest = $1 AND used_at IS NULL AND expires_at > clock_timestamp()
           RETURNING actor
         )
         INSERT INTO angelia.console_sessions (digest, actor, expires_at)
         SELECT $2::text, t.actor, clock_timestamp() + make_interval(secs => $3) FROM taken t
         RETURNING actor, date_part('epoch', expires_at) * 1000`,
};

/**
 * The sessions of the console and the links that open one. Callers give digests, never secrets. Taking back is durable: after
 * a crash of Postgres no session that was revoked and no link that was used works again. A session or link that is lost with
 * a crash is only asked for again. forget-expired.ts deletes old rows.
 */
export class ConsoleAccess {
  readonly #durable: ConnectionPool;
  readonly #relaxed: ConnectionPool;
  readonly #reads: BatchReader<string, ConsoleSession | null>;

  constructor({ durable, relaxed }: { durable: ConnectionPool; relaxed: ConnectionPool }) {
    this.#durable = durable;
    this.#relaxed = relaxed;
    this.#reads = new BatchReader(READS_AT_ONCE, async (digests) =>
      (await relaxed.query(FIND, [textArray(digests)])).map(sessionOf),
    );
  }

  /** Null: there is no such session, or it is over. */
  find(digest: string): Promise<ConsoleSession | null> {
    return this.#reads.read(digest);
  }

  async open(digest: string, actor: string, seconds: number): Promise<ConsoleSession> {
    const [row] = await this.#relaxed.query(OPEN, [digest, actor, seconds]);
    return sessionOf(row) as ConsoleSession;
  }

  async revoke(digest: string): Promise<void> {
    await this.#durable.query(REVOKE, [digest]);
  }

  /** Returns when the link expires. */
  async addLink(digest: string, actor: string, seconds: number): Promise<number> {
    const [row] = await this.#relaxed.query(ADD_LINK, [digest, actor, seconds]);
    return Math.round(row?.[0] as number);
  }

  /** Uses the link up and opens a session. Null: there is no such link, or it was used, or it is old. */
  async takeLink(link: string, session: string, seconds: number): Promise<ConsoleSession | null> {
    const [row] = await this.#durable.query(TAKE_LINK, [link, session, seconds]);
    return sessionOf(row);
  }
}

function sessionOf(row: readonly unknown[] | undefined): ConsoleSession | null {
  const [actor, expiresAt] = (row ?? [null, null]) as [string | null, number];
  return actor === null ? null : { actor, expiresAt: Math.round(expiresAt) };
}

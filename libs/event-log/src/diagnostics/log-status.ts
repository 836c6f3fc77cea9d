import { NEEDED_MIGRATION } from '../connection/check-cluster.ts';
import type { ConnectionPool, PoolUse, Statement } from '../connection/connection-pool.ts';
import type { Database } from '../connection/database.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import type { ViewsVersion } from '../read/views-version.ts';
import { HEALTH_AGES, type LogHealth, toLogHealth } from './health.ts';

/** What is not settled yet. */
interface OpenWork {
  /** Sessions by status; `ended` means that something is left to deliver or to watch. At most MAX_COUNTED in all. */
  readonly sessions: Readonly<Record<string, number>>;
  /** How long the longest waiting turn, and delivery, has been due. 0 if none is. */
  readonly runOverdueMs: number;
  readonly deliveryOverdueMs: number;
}

/** The schema that is there and the one that this program is made for, and who leads what. */
interface Installation {
  readonly migration: number;
  readonly neededMigration: number;
  readonly viewsVersion: number;
  readonly neededViewsVersion: number;
  /** Without expired leads. The holder is an instance and its incarnation. */
  readonly leaders: readonly { readonly name: string; readonly holder: string }[];
}

const MIGRATION: Statement = {
  name: 'last_migration',
  text: 'SELECT max(m.number) FROM angelia.migrations m',
};
const LEADERS: Statement = {
  name: 'live_leaders',
  text: 'SELECT l.name, l.holder FROM angelia.leaders l WHERE l.expires_at > clock_timestamp() ORDER BY l.name',
};
const PING: Statement = { name: 'ping', text: 'SELECT 1' };
const HEALTH: Statement = { name: 'health_ages', text: HEALTH_AGES };

/** A larger number tells nobody more, and would cost time to count. */
const MAX_COUNTED = 100_000;

/** Partial indexes hold what is open: the cost does not grow with the sessions that were served. */
const OPEN_WORK: Statement = {
  name: 'open_work',
  text: `SELECT
    (SELECT coalesce(jsonb_object_agg(c.status, c.sessions), '{}') FROM (
       SELECT o.status, count(*) AS sessions
       FROM (SELECT s.status FROM angelia.sessions s WHERE NOT s.settled LIMIT ${MAX_COUNTED}) o GROUP BY o.status) c),
    date_part('epoch', clock_timestamp() - (SELECT s.run_due_at FROM angelia.sessions s
       WHERE s.run_due_at IS NOT NULL AND NOT s.running ORDER BY s.run_due_at, s.session_id LIMIT 1)) * 1000,
    date_part('epoch', clock_timestamp() - (SELECT s.delivery_due_at FROM angelia.sessions s
       WHERE s.delivery_due_at IS NOT NULL ORDER BY s.delivery_due_at, s.session_id LIMIT 1)) * 1000`,
};

/** Whether the log can be used, and how far behind its readers are. */
export class LogStatus {
  readonly #database: Database;
  readonly #pool: ConnectionPool;
  readonly #version: ViewsVersion;

  constructor(database: Database, version: ViewsVersion) {
    this.#database = database;
    this.#version = version;
    this.#pool = database.relaxed;
  }

  /**
   * A service calls this when it starts. Throws WrongCluster (a person must act: exit 78), NotMigrated or LogUnavailable
   * (stay up, ask again). Returns what to warn about, one line each.
   */
  async check(): Promise<string[]> {
    await Promise.all([this.#database.durable.query(PING, []), this.#database.relaxed.query(PING, [])]);
    return this.#database.warnings();
  }

  async ping(): Promise<void> {
    await this.#database.durable.query(PING, []);
  }

  async health(): Promise<LogHealth> {
    return toLogHealth((await this.#pool.query(HEALTH, []))[0] ?? []);
  }

  /** How many sessions have which status, and how late the latest work is. From the views. */
  async openWork(): Promise<OpenWork> {
    const [sessions, run, delivery] = (await this.#pool.query(OPEN_WORK, []))[0] ?? [];
    const age = (value: unknown) => Math.max(0, Math.round((value as number | null | undefined) ?? 0));
    return {
      sessions: (sessions as Record<string, number> | undefined) ?? {},
      runOverdueMs: age(run),
      deliveryOverdueMs: age(delivery),
    };
  }

  async installation(): Promise<Installation> {
    const leaders = await this.#pool.query(LEADERS, []);
    return {
      migration: ((await this.#pool.query(MIGRATION, []))[0]?.[0] as number | undefined) ?? 0,
      neededMigration: NEEDED_MIGRATION,
      viewsVersion: await this.#version.read(),
      neededViewsVersion: VIEWS_VERSION,
      leaders: leaders.map(([name, holder]) => ({ name: name as string, holder: holder as string })),
    };
  }

  /** The connections of this process, by pool. */
  get pools(): Readonly<Record<'durable' | 'relaxed', PoolUse>> {
    return { durable: this.#database.durable.use, relaxed: this.#database.relaxed.use };
  }

  /** When Postgres could last not be reached, by performance.now(). Null: it always could. */
  get lastAwayAt(): number | null {
    return this.#database.lastAwayAt;
  }
}

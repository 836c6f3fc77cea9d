import type { Database, PoolUse } from '../connection/database.ts';
import { type LogHealth, readHealth } from './health.ts';
import { type OpenWork, readOpenWork } from './open-work.ts';

const PING = { name: 'ping', text: 'SELECT 1' };

/** Whether the log can be used, and how far behind its readers are. */
export class LogStatus {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * What a service asks when it starts. Throws WrongCluster (a person must act: exit 78), NotMigrated or LogUnavailable
   * (stay up, ask again). Returns what to warn about, one line each.
   */
  async check(): Promise<string[]> {
    await Promise.all([this.#database.durable.query(PING, []), this.#database.relaxed.query(PING, [])]);
    return this.#database.warnings();
  }

  async ping(): Promise<void> {
    await this.#database.durable.query(PING, []);
  }

  health(): Promise<LogHealth> {
    return readHealth(this.#database.relaxed);
  }

  /** How many sessions are at which point, and how late the latest is: from the views. */
  openWork(): Promise<OpenWork> {
    return readOpenWork(this.#database.relaxed);
  }

  /** The connections of this process, by pool. */
  get pools(): Readonly<Record<'durable' | 'relaxed', PoolUse>> {
    return { durable: this.#database.durable.use, relaxed: this.#database.relaxed.use };
  }

  /** When Postgres could last not be reached, by performance.now(); null: it always could. */
  get lastAwayAt(): number | null {
    return this.#database.lastAwayAt;
  }
}

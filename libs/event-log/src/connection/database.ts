import { ConnectionPool, type PoolOptions, type PoolSize, type Timeouts } from './connection-pool.ts';
import type { Logger } from './logger.ts';

export const SERVICE_ROLE = 'angelia_service';
export const PRUNER_ROLE = 'angelia_pruner';

export const TIMEOUTS: Timeouts = {
  statementMs: 8_000,
  lockMs: 5_000,
  idleInTransactionMs: 10_000,
  answerMs: 10_000,
  connectMs: 5_000,
  retryMs: 2_000,
  // Long enough that a load with pauses keeps its connections. One that a load has used takes 3 to 8 MB of Postgres' memory.
  idleMs: 10_000,
};

/**
 * One flush of appends, one batch of stream reads and one batch of lease reads are in flight at a time. The first webhook
 * after a pause should not wait until a connection is open.
 */
const DURABLE: PoolSize = { most: 3, kept: 1 };
/** At rest, the statements of timers and led loops meet now and then, but hardly ever three of them. */
const RELAXED_KEPT = 2;

/**
 * Two pools that never wait for each other. On `durable` connections a commit waits for the disk: appends, for invariant
 * accepted-is-durable, and reads of streams. On `relaxed` connections it does not (synchronous_commit=off): leases,
 * leads, checkpoints and views are derived or not history, and a crash that loses the last of them costs a repeated,
 * idempotent step.
 */
export class Database {
  readonly durable: ConnectionPool;
  readonly relaxed: ConnectionPool;
  readonly logger: Logger;
  readonly timeouts: Timeouts;
  readonly #options: PoolOptions;
  #pruner: ConnectionPool | undefined;

  constructor(options: PoolOptions & { readonly poolSize: number }) {
    this.#options = options;
    this.logger = options.logger;
    this.timeouts = options.timeouts;
    // synchronous_commit is set and not left to the server: a database that is set to off would lose what got a 2xx.
    this.durable = new ConnectionPool(options, DURABLE, [
      'plan_cache_mode=force_generic_plan',
      'synchronous_commit=on',
    ]);
    this.relaxed = new ConnectionPool(options, { most: options.poolSize, kept: RELAXED_KEPT }, [
      'synchronous_commit=off',
    ]);
  }

  /** For work that opens its own connections: migrating, rebuilding. */
  get url(): string {
    return this.#options.url;
  }

  /** The only pool that may delete events. It has one connection, and is made when somebody prunes. */
  get pruner(): ConnectionPool {
    const role = this.#options.role === null ? null : PRUNER_ROLE;
    this.#pruner ??= new ConnectionPool({ ...this.#options, role }, { most: 1, kept: 0 }, [
      'synchronous_commit=on',
    ]);
    return this.#pruner;
  }

  /** When Postgres could last not be reached (performance.now()). Null: it always could. */
  get lastAwayAt(): number | null {
    const times = [this.durable.lastAwayAt, this.relaxed.lastAwayAt].filter((time) => time !== null);
    return times.length === 0 ? null : Math.max(...times);
  }

  /** What is not as it should be although the work goes on, one line each. */
  warnings(): string[] {
    return [...new Set([this.durable.warning, this.relaxed.warning].filter((text) => text !== undefined))];
  }

  async close(): Promise<void> {
    await Promise.all([this.durable.close(), this.relaxed.close(), this.#pruner?.close()]);
  }
}

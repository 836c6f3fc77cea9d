import pg from 'pg';
import { LogClosed, type LogError, LogUnavailable, NotMigrated, WrongCluster } from '../errors.ts';
import type { Logger } from './logger.ts';
import { isConnectionLost, isRoleRefused, messageOf, toLogError } from './postgres-errors.ts';

/** The driver, by the names that telemetry knows its parts by: it wraps their functions. */
export const driverModules: Readonly<Record<string, unknown>> = {
  pg,
  'pg-pool': Object.getPrototypeOf(pg.Pool),
};

export const SERVICE_ROLE = 'angelia_service';
export const PRUNER_ROLE = 'angelia_pruner';

/** The newest migration that this program needs; an older schema is waited for, a newer one is fine. */
export const NEEDED_MIGRATION = 13;

export interface Timeouts {
  /** Server side. The longest honest statement (a page of the tail, a batch of appends) takes well under a second. */
  readonly statementMs: number;
  readonly lockMs: number;
  /** An open writing transaction hides the tail from everybody: ours never idle, so anything longer is a lost client. */
  readonly idleInTransactionMs: number;
  /** Client side, for a server that accepts and says nothing (frozen, cut off): longer than the server's own limit. */
  readonly answerMs: number;
  readonly connectMs: number;
  /** How long an append is tried again while the connection fails, before its caller hears of it. */
  readonly retryMs: number;
}

export const TIMEOUTS: Timeouts = {
  statementMs: 8_000,
  lockMs: 5_000,
  idleInTransactionMs: 10_000,
  answerMs: 10_000,
  connectMs: 5_000,
  retryMs: 2_000,
};

export interface DatabaseOptions {
  readonly url: string;
  readonly instance: string;
  readonly role: string | null;
  readonly poolSize: number;
  readonly timeouts: Timeouts;
  readonly logger: Logger;
}

/** A prepared statement: planned once per connection under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

type Row = readonly unknown[];

/** bigint (positions, counts) as numbers: they stay far below 2^53. For our statements only, not for the whole process. */
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * Two kinds of connections. On `durable` ones a commit waits for the disk: appends, for invariant accepted-is-durable,
 * and reads of streams. On `relaxed` ones it does not (synchronous_commit=off): leases, leading, checkpoints and views
 * are either not history or derived, and a crash that loses the last of them costs a repeated, idempotent step.
 * The two never wait for each other's pool.
 */
export class Database {
  readonly durable: Lane;
  readonly relaxed: Lane;
  readonly logger: Logger;
  readonly timeouts: Timeouts;
  private readonly options: DatabaseOptions;
  private pruning: Lane | undefined;

  constructor(options: DatabaseOptions) {
    this.options = options;
    this.logger = options.logger;
    this.timeouts = options.timeouts;
    // Three: one flush of appends, one batch of reads, one of lease look-ups are in flight at a time.
    // Said and not left to the server's default: a database set to off would lose what was answered with 2xx.
    this.durable = new Lane(options, 3, ['plan_cache_mode=force_generic_plan', 'synchronous_commit=on']);
    this.relaxed = new Lane(options, options.poolSize, ['synchronous_commit=off']);
  }

  /** For work that is a program of its own: migrating, rebuilding. */
  get url(): string {
    return this.options.url;
  }

  /** The only one that may delete events. A connection of its own, made when somebody prunes. */
  get pruner(): Lane {
    const role = this.options.role === null ? null : PRUNER_ROLE;
    this.pruning ??= new Lane({ ...this.options, role }, 1, ['synchronous_commit=on']);
    return this.pruning;
  }

  /** When Postgres could last not be reached (performance.now()); null: it always could. */
  get lastAwayAt(): number | null {
    const times = [this.durable.lastAwayAt, this.relaxed.lastAwayAt].filter((time) => time !== null);
    return times.length === 0 ? null : Math.max(...times);
  }

  /** In one line each, what is not as it should be although the work goes on. */
  warnings(): string[] {
    return [...new Set([this.durable.warning, this.relaxed.warning].filter((text) => text !== undefined))];
  }

  async close(): Promise<void> {
    await Promise.all([this.durable.close(), this.relaxed.close(), this.pruning?.close()]);
  }
}

export interface PoolUse {
  readonly busy: number;
  readonly idle: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
}

export class Lane {
  warning: string | undefined;
  lastAwayAt: number | null = null;
  private readonly pool: pg.Pool;
  private readonly role: string | null;
  private readonly settings: string;
  private closed = false;

  constructor(options: DatabaseOptions, size: number, extra: readonly string[]) {
    const { timeouts, logger } = options;
    const { connectionString, given } = splitUrl(options.url);
    this.role = options.role;
    this.settings = [
      `statement_timeout=${timeouts.statementMs}`,
      `lock_timeout=${timeouts.lockMs}`,
      `idle_in_transaction_session_timeout=${timeouts.idleInTransactionMs}`,
      'jit=off',
      // A plan made while a table was small and kept while it grew must not scan it: everything we ask has an index.
      'enable_seqscan=off',
      'enable_bitmapscan=off',
      ...extra,
    ].reduce((all, setting) => `${all} -c ${setting}`, given);
    this.pool = new pg.Pool({
      connectionString,
      options: this.role === null ? this.settings : `${this.settings} -c role=${this.role}`,
      application_name: options.instance,
      max: size,
      connectionTimeoutMillis: timeouts.connectMs,
      query_timeout: timeouts.answerMs,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      onConnect: checkCluster,
    });
    this.pool.on('error', (error) =>
      logger.warn({ err: messageOf(error) }, 'lost an idle Postgres connection'),
    );
    // A connection that dies while it works rejects its query and also emits; unheard, that would end the process.
    this.pool.on('connect', (client) => client.on('error', () => {}));
  }

  get use(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  /** Rows as arrays, in the order of the select list. */
  query(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.run<Row>({ ...statement, values: [...values], rowMode: 'array', types });
  }

  /** Rows as objects, for statements that are put together anew each time and so not prepared. */
  select<Selected extends object>(text: string, values: readonly unknown[]): Promise<Selected[]> {
    return this.run<Selected>({ text, values: [...values], types });
  }

  private async run<Result>(config: pg.QueryConfig & { rowMode?: 'array' }): Promise<Result[]> {
    const client = await this.connect();
    try {
      const { rows } = await client.query(config);
      client.release();
      return rows as Result[];
    } catch (error) {
      client.release(isConnectionLost(error));
      throw this.noticed(error);
    }
  }

  private async connect(): Promise<pg.PoolClient> {
    if (this.closed) throw new LogClosed('the log is closed');
    try {
      return await this.pool.connect();
    } catch (error) {
      if (this.role === null || !isRoleRefused(error)) throw this.noticed(error);
      this.warning = `the login cannot take the role ${this.role} (${messageOf(error)}): going on with its own rights, so that nothing but this program keeps events from being changed; grant the role or let migrate create it`;
      this.pool.options.options = this.settings;
      try {
        return await this.pool.connect();
      } catch (again) {
        throw this.noticed(again);
      }
    }
  }

  private noticed(error: unknown): LogError {
    const known = toLogError(error);
    if (known instanceof LogUnavailable && isConnectionLost(error)) this.lastAwayAt = performance.now();
    return known;
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.pool.end();
  }
}

/** `options` of the url would replace ours: take them out and put ours behind. */
function splitUrl(url: string): { connectionString: string; given: string } {
  if (!URL.canParse(url)) return { connectionString: url, given: '' };
  const parsed = new URL(url);
  const given = parsed.searchParams.get('options') ?? '';
  parsed.searchParams.delete('options');
  return { connectionString: parsed.toString(), given };
}

/** Once per connection, so that a database swapped under a running service is refused too. */
async function checkCluster(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ known: string; actual: string; migration: number }>(
    `SELECT c.system_identifier::text AS known, (pg_control_system()).system_identifier::text AS actual,
            (SELECT max(number) FROM angelia.migrations) AS migration
     FROM angelia.cluster c`,
  );
  const found = rows[0];
  if (!found || found.migration < NEEDED_MIGRATION) {
    throw new NotMigrated('the schema angelia is older than this program: run migrate');
  }
  if (found.known !== found.actual) throw wrongCluster(found.known, found.actual);
}

export function wrongCluster(known: string, actual: string): WrongCluster {
  return new WrongCluster(
    `this log was written in the Postgres cluster ${known}, and this is cluster ${actual}: ` +
      'stop all services, then run `node dist/migrate.js --raise-epoch`',
  );
}

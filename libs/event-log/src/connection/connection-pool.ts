import pg from 'pg';
import { LogClosed, type LogError, LogUnavailable } from '../errors.ts';
import { checkCluster } from './check-cluster.ts';
import type { Logger } from './logger.ts';
import { isConnectionLost, isRoleRefused, messageOf, toLogError } from './postgres-errors.ts';
import type { BuiltQuery, PreparedQuery } from './query-builder.ts';

/** The driver, under the names by which telemetry knows its parts. Telemetry wraps their functions. */
export const driverModules: Readonly<Record<string, unknown>> = {
  pg,
  'pg-pool': Object.getPrototypeOf(pg.Pool),
};

export interface Timeouts {
  /** Server side. The longest honest statement (a page of the tail, a batch of appends) takes well under a second. */
  readonly statementMs: number;
  readonly lockMs: number;
  /** An open writing transaction hides the tail from everybody. Ours never idle, so a longer one is a lost client. */
  readonly idleInTransactionMs: number;
  /** Client side, for a server that accepts and stays silent (frozen, cut off). Longer than the server's own limit. */
  readonly answerMs: number;
  readonly connectMs: number;
  /** How long an append is retried while the connection fails, before its caller gets the error. */
  readonly retryMs: number;
  /** Connections beyond those that are kept are closed when nobody has used them for this long. */
  readonly idleMs: number;
}

export interface PoolSize {
  readonly most: number;
  /** Of those that were opened, so many stay when nobody needs them. */
  readonly kept: number;
}

export interface PoolOptions {
  readonly url: string;
  readonly instance: string;
  readonly role: string | null;
  readonly timeouts: Timeouts;
  readonly logger: Logger;
}

/** A hand-written prepared statement. Each connection plans it once under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export type Row = readonly unknown[];

export interface PoolUse {
  readonly busy: number;
  readonly idle: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
}

/** bigint (positions, counts) as numbers: they stay far below 2^53. For our statements only, not for the whole process. */
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Connections with the same settings and the same role. Errors of the driver become errors of the log. */
export class ConnectionPool {
  warning: string | undefined;
  lastAwayAt: number | null = null;
  readonly #pool: pg.Pool;
  readonly #role: string | null;
  readonly #settings: string;
  #closed = false;

  constructor(options: PoolOptions, size: PoolSize, extraSettings: readonly string[]) {
    const { timeouts, logger } = options;
    const { connectionString, given } = splitUrl(options.url);
    this.#role = options.role;
    this.#settings = [
      `statement_timeout=${timeouts.statementMs}`,
      `lock_timeout=${timeouts.lockMs}`,
      `idle_in_transaction_session_timeout=${timeouts.idleInTransactionMs}`,
      'jit=off',
      // A plan that was made while a table was small must not scan it after it has grown. Every query of ours has an index.
      'enable_seqscan=off',
      'enable_bitmapscan=off',
      ...extraSettings,
    ].reduce((all, setting) => `${all} -c ${setting}`, given);
    this.#pool = new pg.Pool({
      connectionString,
      options: this.#role === null ? this.#settings : `${this.#settings} -c role=${this.#role}`,
      application_name: options.instance,
      max: size.most,
      min: size.kept,
      connectionTimeoutMillis: timeouts.connectMs,
      query_timeout: timeouts.answerMs,
      idleTimeoutMillis: timeouts.idleMs,
      keepAlive: true,
      onConnect: checkCluster,
    });
    this.#pool.on('error', (error) =>
      logger.warn({ err: messageOf(error) }, 'lost an idle Postgres connection'),
    );
    // A connection that dies while it works rejects its query and also emits. Without a listener the process would end.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  get use(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  /** Rows as arrays, in the order of the select list. */
  query(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#send<Row>({ ...statement, values: [...values], rowMode: 'array', types });
  }

  /** A query of the builder that is compiled anew for each call, and therefore not prepared. Rows as objects. */
  run<Selected>(query: BuiltQuery<Selected>): Promise<Selected[]> {
    const { sql, parameters } = query.compile();
    return this.#send<Selected>({ text: sql, values: [...parameters], types });
  }

  /** A query of the builder that was compiled once and is prepared on each connection. Rows as objects. */
  runPrepared<Parameters extends object, Selected>(
    { name, text, valuesOf }: PreparedQuery<Parameters, Selected>,
    parameters: Parameters,
  ): Promise<Selected[]> {
    return this.#send<Selected>({ name, text, values: valuesOf(parameters), types });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#pool.end();
  }

  async #send<Result>(config: pg.QueryConfig & { rowMode?: 'array' }): Promise<Result[]> {
    const client = await this.#connect();
    try {
      const { rows } = await client.query(config);
      client.release();
      return rows as Result[];
    } catch (error) {
      client.release(isConnectionLost(error));
      throw this.#toLogError(error);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    if (this.#closed) throw new LogClosed('the log is closed');
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (this.#role === null || !isRoleRefused(error)) throw this.#toLogError(error);
      this.warning = `the login cannot take the role ${this.#role} (${messageOf(error)}); continuing with the login's own rights, so only this program protects events from changes; grant the role to the login, or let migrate create it`;
      this.#pool.options.options = this.#settings;
      try {
        return await this.#pool.connect();
      } catch (again) {
        throw this.#toLogError(again);
      }
    }
  }

  #toLogError(error: unknown): LogError {
    const known = toLogError(error);
    if (known instanceof LogUnavailable && isConnectionLost(error)) this.lastAwayAt = performance.now();
    return known;
  }
}

/** `options` in the url would replace ours. They are taken out, and ours are put behind them. */
function splitUrl(url: string): { connectionString: string; given: string } {
  if (!URL.canParse(url)) return { connectionString: url, given: '' };
  const parsed = new URL(url);
  const given = parsed.searchParams.get('options') ?? '';
  parsed.searchParams.delete('options');
  return { connectionString: parsed.toString(), given };
}

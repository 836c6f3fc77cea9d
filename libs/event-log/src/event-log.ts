import { AppendBatcher } from './append/group-commit.ts';
import type { AppendRequest, AppendResult } from './append/request.ts';
import { Database, SERVICE_ROLE, TIMEOUTS, type Timeouts } from './connection/database.ts';
import { type Logger, silent } from './connection/logger.ts';
import { DeadLetters } from './diagnostics/dead-letters.ts';
import { LogStatus } from './diagnostics/log-status.ts';
import { UnstartedWebhooks } from './diagnostics/unstarted-webhooks.ts';
import { Leases } from './leases/leases.ts';
import { Lists } from './read/lists.ts';
import { Queue } from './read/queue.ts';
import { Streams } from './read/streams.ts';
import { SendTurns } from './send-rates/send-rates.ts';
import { Tail } from './tail/tail.ts';

export interface EventLogOptions {
  readonly url: string;
  /** Stable name of the service's instance; seen as application_name. */
  readonly instance: string;
  /** Who this process is in leases: instance and incarnation. */
  readonly holder: string;
  /** Default angelia_service. null: the login's own rights. */
  readonly role?: string | null;
  /** Connections for everything but appends and reads of streams. */
  readonly poolSize?: number;
  readonly logger?: Logger;
  /** After a commit that appended something: the caller pings the relay. Must not throw. */
  readonly onCommitted?: () => void;
  /** After each transaction of appends: how many it held, and how long it took. Must not throw. */
  readonly onFlushed?: (appends: number, ms: number) => void;
  readonly timeouts?: Partial<Timeouts>;
}

/** Two for the led loops, one for leases, one for the API's lists: more would only queue in Postgres. */
const POOL_SIZE = 4;

/** Never throws because Postgres is away: it connects when first asked, and again whenever needed. */
export function openEventLog(options: EventLogOptions): EventLog {
  return new EventLog(options);
}

/**
 * The log as a service uses it: `append`, and one object for each other subject. It never throws because Postgres is away;
 * each call does.
 */
export class EventLog {
  readonly instance: string;
  readonly holder: string;
  readonly logger: Logger;
  /** For the loops of this package (lead, relay, projection, agenda); services have no use for it. */
  readonly database: Database;
  readonly streams: Streams;
  readonly tail: Tail;
  readonly leases: Leases;
  /** Sessions, deliveries and processes by filter, from the views. */
  readonly lists: Lists;
  /** Sessions that want a run, from the views. */
  readonly queue: Queue;
  readonly deadLetters: DeadLetters;
  readonly unstartedWebhooks: UnstartedWebhooks;
  readonly sendTurns: SendTurns;
  readonly status: LogStatus;
  readonly #appends: AppendBatcher;

  constructor(options: EventLogOptions) {
    this.instance = options.instance;
    this.holder = options.holder;
    this.logger = options.logger ?? silent;
    this.database = new Database({
      url: options.url,
      instance: options.instance,
      role: options.role === undefined ? SERVICE_ROLE : options.role,
      poolSize: options.poolSize ?? POOL_SIZE,
      timeouts: { ...TIMEOUTS, ...options.timeouts },
      logger: this.logger,
    });
    const { onCommitted = () => {}, onFlushed = () => {} } = options;
    this.#appends = new AppendBatcher(this.database, options.holder, onCommitted, onFlushed);
    const { durable, relaxed } = this.database;
    this.streams = new Streams(durable);
    this.leases = new Leases({ read: durable, write: relaxed });
    this.tail = new Tail(relaxed);
    this.lists = new Lists(relaxed);
    this.queue = new Queue(relaxed);
    this.deadLetters = new DeadLetters(relaxed);
    this.unstartedWebhooks = new UnstartedWebhooks(relaxed);
    this.sendTurns = new SendTurns(relaxed);
    this.status = new LogStatus(this.database);
  }

  append(request: AppendRequest): Promise<AppendResult> {
    return this.#appends.append(request);
  }

  /** What the database's clock says. */
  async now(): Promise<number> {
    // Nobody holds it: it is asked for the time that comes with the answer.
    return (await this.leases.read('clock')).now;
  }

  /** Lets what was handed in finish, then closes every connection. */
  async close(): Promise<void> {
    await this.#appends.close();
    await this.database.close();
  }
}

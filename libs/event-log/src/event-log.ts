import { GroupCommit } from './append/group-commit.ts';
import type { EventHint } from './append/hints-of.ts';
import type { AppendRequest, AppendResult } from './append/request.ts';
import type { Timeouts } from './connection/connection-pool.ts';
import { Database, SERVICE_ROLE, TIMEOUTS } from './connection/database.ts';
import { type Logger, silent } from './connection/logger.ts';
import { ConsoleAccess } from './console/console-access.ts';
import { DeadLetters } from './diagnostics/dead-letters.ts';
import { LogStatus } from './diagnostics/log-status.ts';
import { Overview } from './diagnostics/overview.ts';
import { UnstartedWebhooks } from './diagnostics/unstarted-webhooks.ts';
import { Leases } from './leases/leases.ts';
import { Presence } from './leases/presence.ts';
import { Lists } from './read/lists.ts';
import { Queue } from './read/queue.ts';
import { Streams } from './read/streams.ts';
import { ViewsVersion } from './read/views-version.ts';
import { SendRates } from './send-rates/send-rates.ts';
import { Tail } from './tail/tail.ts';

interface EventLogOptions {
  readonly url: string;
  /** Stable name of the service instance. Postgres shows it as application_name. */
  readonly instance: string;
  /** The name of this process in leases: instance and incarnation. */
  readonly holder: string;
  /** Default angelia_service. null: the login's own rights. */
  readonly role?: string | null;
  /** Connections for everything except appends and reads of streams. */
  readonly poolSize?: number;
  readonly logger?: Logger;
  /** Called after a commit that appended something, with its hints. The caller publishes them. Must not throw. */
  readonly onCommitted?: (hints: readonly EventHint[]) => void;
  /** Called after each transaction of appends with its size and duration. Must not throw. */
  readonly onFlushed?: (appends: number, ms: number) => void;
  readonly timeouts?: Partial<Timeouts>;
  /** Each append is a span. Default: no. */
  readonly spans?: boolean;
}

/** Two for the led loops, one for leases, one for the API's lists. More would only queue in Postgres. */
const POOL_SIZE = 4;

/** Does not connect. The log connects at the first call, and again whenever it has to. */
export function openEventLog(options: EventLogOptions): EventLog {
  return new EventLog(options);
}

/**
 * The log as a service uses it: `append`, and one object for each other subject. Making it never fails because Postgres is
 * away; a call does.
 */
export class EventLog {
  readonly instance: string;
  readonly holder: string;
  readonly logger: Logger;
  /** For the loops and admin commands of this package (./leading, ./admin). Services do not use it. */
  readonly database: Database;
  readonly streams: Streams;
  readonly tail: Tail;
  readonly leases: Leases;
  readonly presence: Presence;
  /** Sessions, deliveries and processes by filter, from the views. */
  readonly lists: Lists;
  /** Sessions that want a run, from the views. */
  readonly queue: Queue;
  readonly deadLetters: DeadLetters;
  readonly unstartedWebhooks: UnstartedWebhooks;
  readonly sendRates: SendRates;
  /** Who is signed in to the console. */
  readonly consoleAccess: ConsoleAccess;
  readonly status: LogStatus;
  /** Figures for a page that people keep open. */
  readonly overview: Overview;
  readonly #appends: GroupCommit;

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
    this.#appends = new GroupCommit(
      this.database,
      options.holder,
      onCommitted,
      onFlushed,
      options.spans ?? false,
    );
    const { durable, relaxed } = this.database;
    this.streams = new Streams(durable);
    this.leases = new Leases({ read: durable, write: relaxed });
    this.presence = new Presence(relaxed, options.holder);
    this.tail = new Tail(relaxed);
    const viewsVersion = new ViewsVersion(relaxed);
    this.lists = new Lists(relaxed, viewsVersion);
    this.overview = new Overview(relaxed, viewsVersion);
    this.queue = new Queue(relaxed);
    this.deadLetters = new DeadLetters(relaxed);
    this.unstartedWebhooks = new UnstartedWebhooks(relaxed);
    this.sendRates = new SendRates(relaxed);
    this.consoleAccess = new ConsoleAccess(this.database);
    this.status = new LogStatus(this.database, viewsVersion);
  }

  append(request: AppendRequest): Promise<AppendResult> {
    return this.#appends.append(request);
  }

  /** The database's clock. */
  async now(): Promise<number> {
    // A lease that nobody holds: only the time that comes with the answer counts.
    return (await this.leases.read('clock')).now;
  }

  /** Waits for appends that were handed in, then closes every connection. */
  async close(): Promise<void> {
    await this.#appends.close();
    await this.database.close();
  }
}

import type { RecordedEvent } from '@angelia/contracts';
import { AppendBatcher } from './append-batcher.ts';
import type { AppendRequest, AppendResult } from './append-request.ts';
import { Database, type PoolUse, SERVICE_ROLE, TIMEOUTS, type Timeouts } from './database.ts';
import {
  type DeadLetter,
  type DeadLetterFilter,
  forgetDeadLetter,
  listDeadLetters,
  type NewDeadLetter,
  recordDeadLetter,
  requestReplay,
} from './dead-letters.ts';
import { type LogHealth, readHealth } from './health.ts';
import { freeLeasesOf, type LeaseNow, LeaseReader, renewLeases } from './leases.ts';
import {
  type DeliveryFilter,
  type ListedDelivery,
  type ListedProcess,
  type ListedSession,
  Lists,
  type Page,
  type ProcessFilter,
  type QueuedSession,
  type SessionFilter,
} from './lists.ts';
import { type Logger, silent } from './logger.ts';
import { type OpenWork, readOpenWork } from './open-work.ts';
import { knownKey, readHead } from './read-head.ts';
import { RouteReader, type SessionRoute } from './read-route.ts';
import { StreamReader } from './read-stream.ts';
import { pauseSends, type Turn, type TurnAt, takeTurn } from './send-turns.ts';
import { readTail, type TailPage, tailEnd } from './tail.ts';
import type { TailCursor } from './tail-cursor.ts';
import {
  countUnstarted,
  forgetUnstarted,
  listUnstarted,
  recordUnstarted,
  type UnstartedBatch,
  type UnstartedCount,
  type UnstartedFilter,
  type UnstartedWebhook,
} from './unstarted-webhooks.ts';

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

export class EventLog {
  readonly instance: string;
  readonly holder: string;
  readonly logger: Logger;
  /** For the loops of this package (lead, relay, projection, agenda); services have no use for it. */
  readonly database: Database;
  private readonly appends: AppendBatcher;
  private readonly streams: StreamReader;
  private readonly leases: LeaseReader;
  private readonly routes: RouteReader;
  private readonly lists: Lists;

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
    this.appends = new AppendBatcher(this.database, options.holder, onCommitted, onFlushed);
    this.streams = new StreamReader(this.database.durable);
    this.leases = new LeaseReader(this.database.durable);
    this.routes = new RouteReader(this.database.durable);
    this.lists = new Lists(this.database.relaxed);
  }

  /**
   * What a service asks when it starts. Throws WrongCluster (a person must act: exit 78), NotMigrated or LogUnavailable
   * (stay up, ask again). Returns what to warn about, one line each.
   */
  async check(): Promise<string[]> {
    await Promise.all([
      this.database.durable.query({ name: 'ping', text: 'SELECT 1' }, []),
      this.database.relaxed.query({ name: 'ping', text: 'SELECT 1' }, []),
    ]);
    return this.database.warnings();
  }

  append(request: AppendRequest): Promise<AppendResult> {
    return this.appends.append(request);
  }

  /** Events of one stream from `fromVersion` on, in order; empty when there is no such stream. */
  readStream(streamId: string, fromVersion = 1): Promise<RecordedEvent[]> {
    return this.streams.read({ streamId, fromVersion });
  }

  /** The last event of a stream; null when there is no such stream. */
  readHead(streamId: string): Promise<RecordedEvent | null> {
    return readHead(this.database.durable, streamId);
  }

  /** The stream that this idempotency key stored first; null when it is unknown. Appending asks this by itself. */
  knownKey(key: string): Promise<string | null> {
    return knownKey(this.database.durable, key);
  }

  /** Route and agent of a session; null when there is no such session. Many asked at once are one query. */
  routeOf(sessionId: string): Promise<SessionRoute | null> {
    return this.routes.read(sessionId);
  }

  lease(resource: string): Promise<LeaseNow> {
    return this.leases.read(resource);
  }

  /** What the database's clock says. */
  async now(): Promise<number> {
    // Nobody holds it: it is asked for the time that comes with the answer.
    return (await this.lease('clock')).now;
  }

  /** One statement for all; returns those that are still held. The others are lost: stop their work. */
  renewLeases(resources: readonly string[], holder: string, seconds: number): Promise<string[]> {
    return renewLeases(this.database.relaxed, resources, holder, seconds);
  }

  /** What a dead predecessor of the same stable name held. Returns the freed resources. */
  freeLeasesOf(instance: string, exceptHolder: string): Promise<string[]> {
    return freeLeasesOf(this.database.relaxed, instance, exceptHolder);
  }

  /** The next turn to send, by all processes together; reserved when it is at most `longestMs` ahead. */
  takeTurn(at: readonly TurnAt[], longestMs: number): Promise<Turn> {
    return takeTurn(this.database.relaxed, at, longestMs);
  }

  /** Nobody gets a turn there for so long: the platform asked for it. */
  pauseSends(name: string, seconds: number): Promise<void> {
    return pauseSends(this.database.relaxed, name, seconds);
  }

  readTail(after: TailCursor, limit: number, options: { data: boolean }): Promise<TailPage> {
    return readTail(this.database.relaxed, after, limit, options);
  }

  /** The last place that is visible in the tail now. */
  tailEnd(): Promise<TailCursor> {
    return tailEnd(this.database.relaxed);
  }

  health(): Promise<LogHealth> {
    return readHealth(this.database.relaxed);
  }

  /** How many sessions are at which point, and how late the latest is: from the views. */
  openWork(): Promise<OpenWork> {
    return readOpenWork(this.database.relaxed);
  }

  /** The connections of this process, by pool. */
  get pools(): Readonly<Record<'durable' | 'relaxed', PoolUse>> {
    return { durable: this.database.durable.use, relaxed: this.database.relaxed.use };
  }

  /** When Postgres could last not be reached, by performance.now(); null: it always could. */
  get lastAwayAt(): number | null {
    return this.database.lastAwayAt;
  }

  async ping(): Promise<void> {
    await this.database.durable.query({ name: 'ping', text: 'SELECT 1' }, []);
  }

  listSessions(filter: SessionFilter): Promise<Page<ListedSession>> {
    return this.lists.sessions(filter);
  }

  listDeliveries(filter: DeliveryFilter): Promise<Page<ListedDelivery>> {
    return this.lists.deliveries(filter);
  }

  listProcesses(filter: ProcessFilter): Promise<Page<ListedProcess>> {
    return this.lists.processes(filter);
  }

  /** Sessions that want a run now, the longest waiting of each route first, routes taking turns. */
  pickQueued(limit: number, exceptRoutes: readonly string[] = []): Promise<QueuedSession[]> {
    return this.lists.pickQueued(limit, exceptRoutes);
  }

  /** The same of one route. */
  queuedOf(route: string, limit: number): Promise<QueuedSession[]> {
    return this.lists.queuedOf(route, limit);
  }

  /** For an event that a handler can never process. An outage is no reason: throw, and be hinted again. */
  recordDeadLetter(letter: NewDeadLetter): Promise<void> {
    return recordDeadLetter(this.database.relaxed, letter);
  }

  listDeadLetters(filter: DeadLetterFilter): Promise<DeadLetter[]> {
    return listDeadLetters(this.database.relaxed, filter);
  }

  /** Of the projection: its leader tries again. Of a service: the caller hints it, then forgets it. */
  requestReplay(id: number): Promise<void> {
    return requestReplay(this.database.relaxed, id);
  }

  forgetDeadLetter(id: number): Promise<void> {
    return forgetDeadLetter(this.database.relaxed, id);
  }

  /** Webhooks that started no session: counted, and the newest of each kind kept. In batches, off the hot path. */
  recordUnstarted(batches: readonly UnstartedBatch[]): Promise<void> {
    return recordUnstarted(this.database.relaxed, batches);
  }

  listUnstarted(filter: UnstartedFilter): Promise<UnstartedWebhook[]> {
    return listUnstarted(this.database.relaxed, filter);
  }

  countUnstarted(filter: Omit<UnstartedFilter, 'limit'>): Promise<UnstartedCount[]> {
    return countUnstarted(this.database.relaxed, filter);
  }

  /** Those that are too old to be asked for; now and then. */
  forgetUnstarted(): Promise<void> {
    return forgetUnstarted(this.database.relaxed);
  }

  /** Lets what was handed in finish, then closes every connection. */
  async close(): Promise<void> {
    await this.appends.close();
    await this.database.close();
  }
}

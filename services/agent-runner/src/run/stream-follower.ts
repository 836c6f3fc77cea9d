import { TAIL_PING_SUBJECT } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { Loaded, Sessions } from '@angelia/sessions';

/** The part of core NATS that is needed here. */
export interface Pings {
  subscribe(subject: string, listener: () => void): () => void;
}

/** A run in progress, as the follower sees it. */
interface FollowedRun {
  readonly loaded: Loaded;
  /** Monotonic time at which `loaded` was read or appended. */
  readonly seenAt: number;
  /** It waits for an event of another service and wants it as soon as it is there. */
  readonly waiting: boolean;
  streamRead(loaded: Loaded): void;
}

/**
 * The stream of every run is read twice a second, unless the run appended just now and so has seen its stream. A cancel
 * whose signal was lost therefore still stops it within a second. Very short runs are never read.
 */
const READ_MS = 500;
const SEEN_JUST_NOW_MS = 400;
/** Runs that wait are read no more often than this, however many commits there are. */
const GAP_MS = 100;

/**
 * Tells the runs of this runner what others append to their streams: cancels, results of process-watcher. All streams
 * are read together, 64 per query by the primary key (event-log). Every service sends a ping after a commit; the
 * follower subscribes to them only while a run waits. A ping may be lost.
 */
export class StreamFollower {
  readonly #sessions: Pick<Sessions, 'refresh'>;
  readonly #pings: Pings;
  readonly #logger: Pick<Logger, 'debug'>;
  /** By session: each has one run at a time. */
  readonly #runs = new Map<string, FollowedRun>();
  #timer: NodeJS.Timeout | null = null;
  #unsubscribe: (() => void) | null = null;
  #soonTimer: NodeJS.Timeout | null = null;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading = false;

  constructor(options: {
    readonly sessions: Pick<Sessions, 'refresh'>;
    readonly pings: Pings;
    readonly logger: Pick<Logger, 'debug'>;
  }) {
    this.#sessions = options.sessions;
    this.#pings = options.pings;
    this.#logger = options.logger;
  }

  /** Follows the run until the returned function is called. */
  follow(run: FollowedRun): () => void {
    const { id } = run.loaded;
    this.#runs.set(id, run);
    this.#timer ??= setInterval(() => this.#readAll(), READ_MS).unref();
    return () => {
      if (this.#runs.get(id) === run) this.#runs.delete(id);
      // Without a subscription nobody waited: there is no need to look at every run whenever one ends.
      if (this.#unsubscribe !== null) this.waitingChanged();
      if (this.#runs.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  /** A run starts or stops waiting. */
  waitingChanged(): void {
    const waiting = this.#waiting().length > 0;
    if (waiting) {
      this.#unsubscribe ??= this.#pings.subscribe(TAIL_PING_SUBJECT, () => this.#readWaitingSoon());
      // An event may have been appended since its stream was last read.
      this.#readWaitingSoon();
      return;
    }
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    if (this.#soonTimer !== null) clearTimeout(this.#soonTimer);
    this.#soonTimer = null;
  }

  /** Somebody says that the stream of this session has changed. */
  async checkSession(sessionId: string): Promise<void> {
    const run = this.#runs.get(sessionId);
    if (run !== undefined) await this.#readOne(run);
  }

  /** Never throws: the next read follows. */
  async #readOne(run: FollowedRun): Promise<void> {
    try {
      run.streamRead(await this.#sessions.refresh(run.loaded));
    } catch (error) {
      // The log is away, and logs that itself. If it stays away, the run loses its lease.
      this.#logger.debug(
        { err: error, session_id: run.loaded.id },
        'stream of a run not read; will be read again',
      );
    }
  }

  #readAll(): void {
    const now = performance.now();
    void this.#read([...this.#runs.values()].filter((run) => now - run.seenAt >= SEEN_JUST_NOW_MS));
  }

  #readWaitingSoon(): void {
    if (this.#soonTimer !== null) return;
    const inMs = Math.max(0, this.#readAt + GAP_MS - performance.now());
    this.#soonTimer = setTimeout(() => {
      this.#soonTimer = null;
      this.#readAt = performance.now();
      // No second read beside a slow one: it would see no more than the one after it.
      if (this.#reading) this.#readWaitingSoon();
      else void this.#read(this.#waiting());
    }, inMs).unref();
  }

  async #read(runs: readonly FollowedRun[]): Promise<void> {
    if (this.#reading || runs.length === 0) return;
    this.#reading = true;
    await Promise.all(runs.map((run) => this.#readOne(run)));
    this.#reading = false;
  }

  #waiting(): FollowedRun[] {
    return [...this.#runs.values()].filter((run) => run.waiting);
  }
}

import { TAIL_PING_SUBJECT } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { Loaded, Sessions } from '@angelia/sessions';

/** Core NATS, as far as it is needed here. */
export interface Pings {
  subscribe(subject: string, listener: () => void): () => void;
}

/** A run in hand, as the watch sees it. */
export interface FollowedRun {
  readonly loaded: Loaded;
  /** Monotonic time at which `loaded` was read or appended. */
  readonly seenAt: number;
  /** It waits for an event of somebody else: news are wanted as soon as there are any. */
  readonly waiting: boolean;
  news(loaded: Loaded): void;
}

/**
 * Every run is looked at twice a second, unless it appended just now (then it has seen the stream): a cancel whose
 * signal was lost stops it within a second all the same. Runs of an instant are never looked at.
 */
const LOOK_MS = 500;
const SEEN_JUST_NOW_MS = 400;
/** However many commits there are: runs that wait are looked at no more often than this. */
const GAP_MS = 100;

/**
 * Tells the runs of this runner what others append to their streams: that they were cancelled, the results of
 * process-watcher. All are read together, 64 per query by the primary key (event-log, read-stream.ts). The pings that
 * every service sends after a commit are subscribed to only while some run waits; they may be lost.
 */
export class StreamFollower {
  readonly #sessions: Pick<Sessions, 'refresh'>;
  readonly #pings: Pings;
  readonly #logger: Pick<Logger, 'debug'>;
  /** By session: each is in hand once. */
  readonly #runs = new Map<string, FollowedRun>();
  #timer: NodeJS.Timeout | null = null;
  #unsubscribe: (() => void) | null = null;
  #rung: NodeJS.Timeout | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking = false;

  constructor(options: {
    readonly sessions: Pick<Sessions, 'refresh'>;
    readonly pings: Pings;
    readonly logger: Pick<Logger, 'debug'>;
  }) {
    this.#sessions = options.sessions;
    this.#pings = options.pings;
    this.#logger = options.logger;
  }

  /** Until the returned function is called. */
  follow(run: FollowedRun): () => void {
    const { id } = run.loaded;
    this.#runs.set(id, run);
    this.#timer ??= setInterval(() => this.#lookAtAll(), LOOK_MS).unref();
    return () => {
      if (this.#runs.get(id) === run) this.#runs.delete(id);
      this.waitingChanged();
      if (this.#runs.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  /** A run began or ceased to wait. */
  waitingChanged(): void {
    const waiting = this.#waiting().length > 0;
    if (waiting) {
      this.#unsubscribe ??= this.#pings.subscribe(TAIL_PING_SUBJECT, () => this.#ring());
      // What was appended between its last look and now.
      this.#ring();
      return;
    }
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    if (this.#rung !== null) clearTimeout(this.#rung);
    this.#rung = null;
  }

  /** Somebody says that there are news of this session. */
  async look(sessionId: string): Promise<void> {
    const run = this.#runs.get(sessionId);
    if (run !== undefined) await this.#tell(run);
  }

  /** Never throws: a failed look is followed by the next one. */
  async #tell(run: FollowedRun): Promise<void> {
    try {
      run.news(await this.#sessions.refresh(run.loaded));
    } catch (error) {
      // The log is away, and says so itself; if it stays away, the run loses its lease.
      this.#logger.debug({ err: error, session_id: run.loaded.id }, 'no look at the stream of a run');
    }
  }

  #lookAtAll(): void {
    const now = performance.now();
    void this.#lookAt([...this.#runs.values()].filter((run) => now - run.seenAt >= SEEN_JUST_NOW_MS));
  }

  #ring(): void {
    if (this.#rung !== null) return;
    const inMs = Math.max(0, this.#lookedAt + GAP_MS - performance.now());
    this.#rung = setTimeout(() => {
      this.#rung = null;
      this.#lookedAt = performance.now();
      // A look that takes long is not joined by a second one, which would see no more than its successor.
      if (this.#looking) this.#ring();
      else void this.#lookAt(this.#waiting());
    }, inMs).unref();
  }

  async #lookAt(runs: readonly FollowedRun[]): Promise<void> {
    if (this.#looking || runs.length === 0) return;
    this.#looking = true;
    await Promise.all(runs.map((run) => this.#tell(run)));
    this.#looking = false;
  }

  #waiting(): FollowedRun[] {
    return [...this.#runs.values()].filter((run) => run.waiting);
  }
}

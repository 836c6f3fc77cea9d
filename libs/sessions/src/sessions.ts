import {
  type EventMeta,
  type NewEvent,
  type RecordedEvent,
  runResource,
  SCHEMA_VERSION,
  type SessionFact,
  type SessionId,
} from '@angelia/contracts';
import type {
  AppendRequest,
  EventLog,
  ReleaseLease,
  StreamAppend,
  Streams,
  TakeLease,
} from '@angelia/event-log';
import {
  type Decision,
  endsRun,
  evolveAll,
  initialState,
  type RefusalCode,
  type SessionState,
} from '@angelia/session';
import { DatabaseClock } from './database-clock.ts';
import { newEventId } from './ids.ts';
import { traceIdNow, traceIdOf, traceparentNow, withinTrace } from './tracing.ts';
import { upcast, upcastOrSkip } from './upcast/upcast.ts';

/** A session as it stood when it was read, or right after an own append. */
export interface Loaded {
  readonly id: SessionId;
  readonly state: SessionState;
  /** All of its events. `position` is 0 for those just appended: an append does not learn it. */
  readonly events: readonly RecordedEvent[];
  /** 0: there is no such stream. */
  readonly version: number;
}

export interface ExecuteOptions {
  /** What the caller has read already; saves the read. */
  readonly loaded?: Loaded;
  /** Taken in the same transaction. That of a run which these events end is given back without being named. */
  readonly lease?: TakeLease;
  /** Taken once: a known key gives `duplicate` and appends nothing. */
  readonly key?: AppendRequest['key'];
  /** Only what is appended spends it. */
  readonly rateLimit?: AppendRequest['rateLimit'] | undefined;
  /** Event or request that caused this; default: the last event that was seen. */
  readonly causation?: string;
  /** Default: the instance of this service. `api` for what a user asked for. */
  readonly actor?: string;
  /** For the first events of a session: the trace it belongs to, when there is no active span of it. */
  readonly traceparent?: string | undefined;
  readonly maxRetries?: number;
  /**
   * Decide past events that only a newer version can read, instead of throwing EventTooNew. Only for a fact that is true
   * whatever they say. Do not go on from the session that is returned: it is not as it is.
   */
  readonly pastUnreadable?: boolean;
}

export interface AppendOptions extends Omit<ExecuteOptions, 'loaded' | 'maxRetries' | 'pastUnreadable'> {
  /** Another stream that is appended to in the same transaction. */
  readonly beside?: StreamAppend | undefined;
}

export type Executed =
  | { readonly status: 'appended'; readonly loaded: Loaded; readonly appended: readonly SessionFact[] }
  /** Nothing to do: no decision, or one without events (a replayed command). */
  | { readonly status: 'nothing'; readonly loaded: Loaded }
  /** The domain says no. */
  | {
      readonly status: 'refused';
      readonly code: RefusalCode;
      readonly reason: string;
      readonly loaded: Loaded;
    }
  /** Another live holder has the lease that was asked for. */
  | {
      readonly status: 'leased';
      readonly loaded: Loaded;
      readonly holder: string;
      readonly expiresAt: number;
    }
  /** Every place of the lease's pool is taken. */
  | { readonly status: 'full'; readonly loaded: Loaded }
  /** Too many per minute: come again after this long. */
  | { readonly status: 'limited'; readonly retryAfterSeconds: number }
  /** The key is known: what it stored first. */
  | { readonly status: 'duplicate'; readonly streamId: string };

/**
 * Thrown when the same append conflicted again and again. Each conflict means that somebody else made progress on
 * this stream, so that a retry later can help; it is also what a decision looks like that never gets there.
 */
export class TooManyConflicts extends Error {
  readonly code = 'too_many_conflicts';
  readonly retryable = true;
  override readonly name = 'TooManyConflicts';
}

/**
 * Deliveries, processes and a cancel append beside a run: a handful of writers, each of whom wins at some time.
 * 200 in a row without a turn of ours is a fault, not bad luck. No pause between them: a conflict is progress of others.
 */
const MAX_CONFLICTS = 200;

export interface SessionsOptions {
  readonly log: Pick<EventLog, 'append' | 'now'> & { readonly streams: Pick<Streams, 'read'> };
  /** Actor of the appended events. */
  readonly instance: string;
  readonly clock?: DatabaseClock;
}

/** Sessions as the services see them: fold the stream, decide on it, append what was decided. */
export class Sessions {
  readonly #log: SessionsOptions['log'];
  readonly #instance: string;
  /** Set right by each append. */
  readonly clock: DatabaseClock;

  constructor(options: SessionsOptions) {
    this.#log = options.log;
    this.#instance = options.instance;
    this.clock = options.clock ?? new DatabaseClock();
  }

  /**
   * What time it is by the database, for deadlines that are judged by it: see DatabaseClock. Asks it where that is in doubt,
   * which costs a query at the start, and after the clock of this host was set. Throws what the log throws.
   */
  async now(): Promise<number> {
    if (this.clock.inDoubt) this.clock.observe(await this.#log.now());
    return this.clock.now();
  }

  /** What a session is before its first event: for an append to a stream whose id was just made. */
  fresh(id: SessionId): Loaded {
    return { id, state: initialState(), events: [], version: 0 };
  }

  /** Folded from the log: always current. */
  async load(id: SessionId): Promise<Loaded> {
    return extended(this.fresh(id), await this.#log.streams.read(id));
  }

  /** The same session with what was appended to it since; reads only that. */
  async refresh(loaded: Loaded): Promise<Loaded> {
    return extended(loaded, await this.#log.streams.read(loaded.id, loaded.version + 1));
  }

  /**
   * Fold, decide, append; on a conflict fold what is new and decide again: other services append to the same stream
   * all the time. `decideOn` must be pure, as it may run several times. Throws what the log throws (LogUnavailable
   * and the like) and TooManyConflicts; nothing is half done then.
   */
  async execute(
    id: SessionId,
    decideOn: (loaded: Loaded) => Decision | null,
    options: ExecuteOptions = {},
  ): Promise<Executed> {
    let loaded = options.loaded ?? (await this.load(id));
    const maxConflicts = options.maxRetries ?? MAX_CONFLICTS;
    for (let conflicts = 0; conflicts <= maxConflicts; conflicts += 1) {
      const decision = decideOn(loaded);
      if (decision === null) return { status: 'nothing', loaded };
      if (!decision.ok) return { status: 'refused', code: decision.code, reason: decision.reason, loaded };
      if (decision.events.length === 0) return { status: 'nothing', loaded };
      const settled = await this.append(loaded, decision.events, options);
      if (settled !== 'conflict') return settled;
      loaded = options.pastUnreadable
        ? extended(loaded, await this.#log.streams.read(id, loaded.version + 1), upcastOrSkip)
        : await this.refresh(loaded);
    }
    throw new TooManyConflicts(`${id}: ${maxConflicts + 1} appends in a row met a newer version`);
  }

  /**
   * The name that was first given under this key, which is `name` if none was: of several who come with the same key
   * and different names, now or later, here or on another replica, all get the first one's. No stream may be called so.
   */
  async firstUnder(key: NonNullable<AppendRequest['key']>, name: string): Promise<string> {
    const result = await this.#log.append({
      // Nothing is appended: what a key stores is the name of its stream.
      streams: [{ streamId: name, expectedVersion: 0, events: [] }],
      key,
    });
    switch (result.status) {
      case 'appended':
        return name;
      case 'duplicate':
        return result.streamId;
      default:
        throw new Error(`the name ${name} under a key was answered with ${result.status}`);
    }
  }

  /** One try with events that were decided on `loaded`. On a conflict, with either stream: look and decide again. */
  append(
    loaded: Loaded,
    facts: readonly SessionFact[],
    options: AppendOptions,
  ): Promise<Executed | 'conflict'> {
    const own = loaded.state.created?.traceparent ?? options.traceparent;
    // Work that a timer, the sweep or an API call began runs in a trace of its own, or in none: what it appends still
    // belongs to the session's (invariant one-trace).
    if (own !== undefined && traceIdNow() !== traceIdOf(own)) {
      return withinTrace(own, () => this.#write(loaded, facts, options, own));
    }
    return this.#write(loaded, facts, options, traceparentNow());
  }

  async #write(
    loaded: Loaded,
    facts: readonly SessionFact[],
    options: AppendOptions,
    traceparent: string | undefined,
  ): Promise<Executed | 'conflict'> {
    const causation = options.causation ?? loaded.events.at(-1)?.eventId;
    const meta: EventMeta = {
      actor: options.actor ?? this.#instance,
      correlation: loaded.id,
      ...(causation === undefined ? {} : { causation }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const events = facts.map(
      (fact): NewEvent => ({ eventId: newEventId(), type: fact.type, data: fact.data, meta }),
    );
    const lease = options.lease ?? leaseGivenBack(loaded, facts);
    const result = await this.#log.append({
      // The session's own comes first: it is what an idempotency key gives back.
      streams: [
        { streamId: loaded.id, expectedVersion: loaded.version, events },
        ...(options.beside === undefined ? [] : [options.beside]),
      ],
      ...(options.key === undefined ? {} : { key: options.key }),
      ...(lease === undefined ? {} : { lease }),
      ...(options.rateLimit === undefined ? {} : { rateLimit: options.rateLimit }),
    });
    switch (result.status) {
      case 'appended': {
        this.clock.observe(result.recordedAt);
        let after: Loaded | undefined;
        return {
          status: 'appended',
          // Folded when asked for: ingress, which appends the most, never does.
          get loaded() {
            after ??= extended(loaded, recorded(loaded, events, result.recordedAt));
            return after;
          },
          appended: facts,
        };
      }
      case 'duplicate':
        return { status: 'duplicate', streamId: result.streamId };
      case 'leased':
        return { status: 'leased', loaded, holder: result.holder, expiresAt: result.expiresAt };
      case 'full':
        return { status: 'full', loaded };
      case 'limited':
        return { status: 'limited', retryAfterSeconds: result.retryAfterSeconds };
      case 'conflict':
        return 'conflict';
    }
  }
}

/**
 * Whoever ends a run frees its place: its runner with the answer, but also a cancel by API or a newer webhook. Kept
 * until it expired, the lease would hold a place of the route (`max_concurrency`) for work that is over.
 */
function leaseGivenBack({ id, state }: Loaded, facts: readonly SessionFact[]): ReleaseLease | undefined {
  if (state.run === null || !endsRun(state, facts)) return undefined;
  return { resource: runResource(id), release: true, holder: state.run.runner };
}

function extended(
  loaded: Loaded,
  more: readonly RecordedEvent[],
  read: (event: RecordedEvent) => RecordedEvent = (event) => upcast(event),
): Loaded {
  if (more.length === 0) return loaded;
  const events = more.map(read);
  return {
    id: loaded.id,
    state: evolveAll(loaded.state, events),
    events: loaded.events.length === 0 ? events : [...loaded.events, ...events],
    version: events.at(-1)?.version ?? loaded.version,
  };
}

/** What was appended, as a read would give it back. */
function recorded(loaded: Loaded, events: readonly NewEvent[], recordedAt: number): RecordedEvent[] {
  return events.map((event, index) => ({
    position: 0,
    streamId: loaded.id,
    version: loaded.version + index + 1,
    type: event.type,
    schemaVersion: SCHEMA_VERSION,
    eventId: event.eventId,
    data: event.data,
    meta: event.meta,
    recordedAt,
  }));
}

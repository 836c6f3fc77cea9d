import {
  AngeliaError,
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
import { traceWaits } from './trace-waits.ts';
import {
  childTraceparent,
  isTracing,
  traceIdNow,
  traceIdOf,
  traceparentNow,
  withinTrace,
} from './tracing.ts';
import { upcast, upcastOrSkip } from './upcast/upcast.ts';

/** A session as it was when it was read, or right after an append of ours. */
export interface Loaded {
  readonly id: SessionId;
  readonly state: SessionState;
  /** All of its events. `position` is 0 for events just appended: an append does not learn it. */
  readonly events: readonly RecordedEvent[];
  /** 0: the stream does not exist. */
  readonly version: number;
}

export interface ExecuteOptions {
  /** What the caller has already read; saves the read. */
  readonly loaded?: Loaded;
  /** Taken in the same transaction. If these events end a run, its lease is given back without being named here. */
  readonly lease?: TakeLease;
  /** The idempotency key. A known key returns `duplicate` and appends nothing. */
  readonly key?: AppendRequest['key'];
  /** Only an append that succeeds counts against it. */
  readonly rateLimit?: AppendRequest['rateLimit'] | undefined;
  /** The event or request that caused this. Default: the last event that was read. */
  readonly causation?: string;
  /** Default: the instance of this service. `api` for a user's request. */
  readonly actor?: string;
  /** For the first events of a session: its trace, if no span of it is active. */
  readonly traceparent?: string | undefined;
  readonly maxRetries?: number;
  /**
   * The same as `beside`, for streams that others append to all the time. Called again after each conflict, with true: then
   * one of them, or the session, has moved on.
   */
  readonly alongside?: (conflicted: boolean) => Promise<readonly StreamAppend[]>;
  /**
   * Decide past events that only a newer version can read, instead of throwing EventTooNew. Only for a fact that is true
   * whatever they say. Do not go on from the session that is returned: it is not as it is.
   */
  readonly pastUnreadable?: boolean;
  /** Other streams to append to in the same transaction: key streams, or a session of its own (`newSession`). */
  readonly beside?: readonly StreamAppend[] | undefined;
  /**
   * One more stream, whose version proves that the caller may append: the offset of a connection that it leads. If the stream
   * has moved on, another process leads. Then Superseded is thrown, and nothing is decided again.
   */
  readonly fence?: StreamAppend | undefined;
}

export type AppendOptions = Omit<ExecuteOptions, 'loaded' | 'maxRetries' | 'pastUnreadable'>;

export type Executed =
  | { readonly status: 'appended'; readonly loaded: Loaded; readonly appended: readonly SessionFact[] }
  /** Nothing to do: no decision, or a decision without events (a repeated command). */
  | { readonly status: 'nothing'; readonly loaded: Loaded }
  /** The domain refuses it. */
  | {
      readonly status: 'refused';
      readonly code: RefusalCode;
      readonly reason: string;
      readonly loaded: Loaded;
    }
  /** Another live holder has the lease. */
  | {
      readonly status: 'leased';
      readonly loaded: Loaded;
      readonly holder: string;
      readonly expiresAt: number;
    }
  /** Every place of the lease's pool is taken. */
  | { readonly status: 'full'; readonly loaded: Loaded }
  /** Over the rate limit: retry after this time. */
  | { readonly status: 'limited'; readonly retryAfterSeconds: number }
  /** The key is known: the stream that it stored first. */
  | { readonly status: 'duplicate'; readonly streamId: string };

/** Thrown if the stream of `fence` has moved on: another process does this work now. Stop, and do not try again. */
export class Superseded extends AngeliaError {
  readonly code = 'superseded';
  readonly retryable = false;
  override readonly name = 'Superseded';
}

/**
 * Thrown if the same append met a conflict again and again. Each conflict means that somebody else made progress on this
 * stream, so a later retry can help. A decision that can never be appended looks the same.
 */
export class TooManyConflicts extends AngeliaError {
  readonly code = 'too_many_conflicts';
  readonly retryable = true;
  override readonly name = 'TooManyConflicts';
}

/**
 * Deliveries, processes and a cancel append beside a run: a few writers, each of which wins at some time. 200 conflicts in a
 * row are a fault, not bad luck. There is no pause between them: a conflict is progress of somebody else.
 */
const MAX_CONFLICTS = 200;

interface SessionsOptions {
  readonly log: Pick<EventLog, 'append' | 'now'> & { readonly streams: Pick<Streams, 'read'> };
  /** The actor of the appended events. */
  readonly instance: string;
  readonly clock?: DatabaseClock;
}

/** Sessions as the services use them: fold the stream, decide on it, append the decision. */
export class Sessions {
  readonly #log: SessionsOptions['log'];
  readonly #instance: string;
  /** Each append corrects it. */
  readonly clock: DatabaseClock;

  constructor(options: SessionsOptions) {
    this.#log = options.log;
    this.#instance = options.instance;
    this.clock = options.clock ?? new DatabaseClock();
  }

  /**
   * The time of the database, for deadlines that are judged by it (DatabaseClock). Asks the database only if the clock is in
   * doubt: at the start, and after the clock of this host was set. Throws what the log throws.
   */
  async now(): Promise<number> {
    if (this.clock.inDoubt) this.clock.observe(await this.#log.now());
    return this.clock.now();
  }

  /** A session before its first event: for an append to a stream whose id was just made. */
  fresh(id: SessionId): Loaded {
    return { id, state: initialState(), events: [], version: 0 };
  }

  /** Folds the session from the log: always current. */
  async load(id: SessionId): Promise<Loaded> {
    return extended(this.fresh(id), await this.#log.streams.read(id));
  }

  /** The same session with the events appended since; reads only those. */
  async refresh(loaded: Loaded): Promise<Loaded> {
    return extended(loaded, await this.#log.streams.read(loaded.id, loaded.version + 1));
  }

  /**
   * Folds, decides, appends. On a conflict it folds what is new and decides again: other services append to the same stream
   * all the time. `decideOn` must be pure, because it may run several times. Throws what the log throws (LogUnavailable and
   * others) and TooManyConflicts; nothing is half done then.
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
      const beside = [...(options.beside ?? []), ...((await options.alongside?.(conflicts > 0)) ?? [])];
      const settled = await this.append(loaded, decision.events, { ...options, beside });
      if (settled !== 'conflict') return settled;
      loaded = options.pastUnreadable
        ? extended(loaded, await this.#log.streams.read(id, loaded.version + 1), upcastOrSkip)
        : await this.refresh(loaded);
    }
    throw new TooManyConflicts(`${id}: ${maxConflicts + 1} appends in a row met a conflict`);
  }

  /**
   * The name that was first stored under this key; stores `name` if there is none. All callers with the same key get the
   * same name, now or later, here or on another replica. No stream may have this name.
   */
  async firstUnder(key: NonNullable<AppendRequest['key']>, name: string): Promise<string> {
    const result = await this.#log.append({
      // Appends nothing: a key stores the name of its stream.
      streams: [{ streamId: name, expectedVersion: 0, events: [] }],
      key,
    });
    switch (result.status) {
      case 'appended':
        return name;
      case 'duplicate':
        return result.streamId;
      default:
        throw new Error(`storing the name ${name} under a key returned ${result.status}`);
    }
  }

  /** The first events of a session, as a stream that is appended to beside others. */
  newSession(
    id: SessionId,
    facts: readonly SessionFact[],
    {
      actor = this.#instance,
      traceparent,
      causation,
    }: Pick<AppendOptions, 'actor' | 'traceparent' | 'causation'>,
  ): StreamAppend {
    const meta: EventMeta = {
      actor,
      correlation: id,
      ...(causation === undefined ? {} : { causation }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const events = facts.map(({ type, data }): NewEvent => ({ eventId: newEventId(), type, data, meta }));
    return { streamId: id, expectedVersion: 0, events };
  }

  /** One try to append events that were decided on `loaded`. On a conflict with either stream, read and decide again. */
  append(
    loaded: Loaded,
    facts: readonly SessionFact[],
    options: AppendOptions,
  ): Promise<Executed | 'conflict'> {
    const own = loaded.state.created?.traceparent ?? options.traceparent;
    // Work that a timer, the sweep or an API call started runs in its own trace, or in none. What it appends still belongs
    // to the trace of the session (invariant one-trace).
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
      (fact): NewEvent => ({
        eventId: newEventId(),
        type: fact.type,
        data: fact.data,
        meta: isTracing() && beginsSpan(fact) ? withOwnSpan(meta) : meta,
      }),
    );
    const lease = options.lease ?? leaseGivenBack(loaded, facts);
    const result = await this.#log.append({
      // The session's own stream comes first: an idempotency key returns it.
      streams: [
        { streamId: loaded.id, expectedVersion: loaded.version, events },
        ...(options.beside ?? []),
        ...(options.fence === undefined ? [] : [options.fence]),
      ],
      ...(options.key === undefined ? {} : { key: options.key }),
      ...(lease === undefined ? {} : { lease }),
      ...(options.rateLimit === undefined ? {} : { rateLimit: options.rateLimit }),
    });
    switch (result.status) {
      case 'appended': {
        this.clock.observe(result.recordedAt);
        let after: Loaded | undefined;
        const executed: Executed = {
          status: 'appended',
          // Folded on demand: ingress, which appends the most, never needs it.
          get loaded() {
            after ??= extended(loaded, recorded(loaded, events, result.recordedAt));
            return after;
          },
          appended: facts,
        };
        if (isTracing()) traceWaits(loaded, facts, result.recordedAt, () => executed.loaded.state);
        return executed;
      }
      case 'duplicate':
        return { status: 'duplicate', streamId: result.streamId };
      case 'leased':
        return { status: 'leased', loaded, holder: result.holder, expiresAt: result.expiresAt };
      case 'full':
        return { status: 'full', loaded };
      case 'limited':
        return { status: 'limited', retryAfterSeconds: result.retryAfterSeconds };
      case 'conflict': {
        const { fence } = options;
        const moved = result.streams.find(({ streamId }) => streamId === fence?.streamId);
        if (moved !== undefined && moved.version !== fence?.expectedVersion) {
          throw new Superseded(
            `${moved.streamId} has moved to version ${moved.version}: another process leads`,
          );
        }
        return 'conflict';
      }
    }
  }
}

/**
 * Whoever ends a run gives its lease back: the runner with the answer, but also a cancel by API or a newer webhook. A lease
 * kept until it expires would hold a place of the route (`max_concurrency`) for work that is over.
 */
function leaseGivenBack({ id, state }: Loaded, facts: readonly SessionFact[]): ReleaseLease | undefined {
  if (state.run === null || !endsRun(state, facts)) return undefined;
  return { resource: runResource(id), release: true, holder: state.run.runner };
}

/** A run and a tool call have spans of their own, which others are children of: process-watcher, delivery, the next runner. */
function beginsSpan({ type }: SessionFact): boolean {
  return type === 'run.started' || type === 'tool.started';
}

function withOwnSpan(meta: EventMeta): EventMeta {
  return meta.traceparent === undefined ? meta : { ...meta, traceparent: childTraceparent(meta.traceparent) };
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

/** The appended events, as a read would return them. */
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

import { hash } from 'node:crypto';
import { type KeyEventData, type SessionFact, type SessionId, sessionId } from '@angelia/contracts';
import type { StreamAppend, Streams } from '@angelia/event-log';
import {
  continuation,
  type Decision,
  decide,
  initialState,
  type RequestTurn,
  type SessionState,
} from '@angelia/session';
import { newEventId, newFenceSeed, newSessionId } from './ids.ts';
import { type AppendOptions, type Loaded, type Sessions, TooManyConflicts } from './sessions.ts';
import { freshTraceparent, linkActiveSpan, traceparentNow } from './tracing.ts';

/** What is to be done under a key, as its current session stands. */
export type KeyedPlan<Refusal> =
  /** One more for the current session. */
  | { readonly to: 'current'; readonly facts: readonly SessionFact[] }
  /** A new session, which is the current one from then on. */
  | { readonly to: 'new'; readonly id: SessionId; readonly facts: readonly SessionFact[] }
  | { readonly to: 'none'; readonly refusal: Refusal };

export type KeyedExecuted<Refusal> =
  | {
      readonly status: 'appended';
      readonly to: 'current' | 'new';
      readonly loaded: Loaded;
      readonly facts: readonly SessionFact[];
    }
  | { readonly status: 'duplicate'; readonly streamId: string }
  | { readonly status: 'limited'; readonly retryAfterSeconds: number }
  | { readonly status: 'refused'; readonly refusal: Refusal };

export type KeyedOptions = Pick<AppendOptions, 'key' | 'rateLimit' | 'actor' | 'traceparent'>;

/** Each conflict is somebody else's progress under the same key; see MAX_CONFLICTS of sessions.ts. */
const MAX_CONFLICTS = 200;

export interface KeyedSessionsOptions {
  readonly log: { readonly streams: Pick<Streams, 'readHead' | 'findByKey'> };
  readonly sessions: Pick<Sessions, 'fresh' | 'load' | 'refresh' | 'append'>;
  readonly instance: string;
}

/** The current session under a key, as it was read. */
interface Seen {
  /** Of the key's stream. */
  readonly version: number;
  readonly current: Loaded | null;
}

/** Those who wait for the same key in this process. */
interface Line {
  tail: Promise<void>;
  joined: number;
  left: number;
  /** As the last of the line left it: saves the next one the reading. A stale one only costs a conflict. */
  seen: Seen | null;
  /** The log failed: those who had joined by then hear of it at once, and do not each wait for the same. */
  failure: { readonly upTo: number; readonly error: unknown } | null;
}

/**
 * Sessions that are found by a key: the window of coalesced webhooks, `session_key`, the continuation of a session.
 *
 * A key has a small stream of its own (`key-...`), with one event per session that was opened under it. The last one
 * names the current session; those before it, and all of a key whose last session is gone, go when it is pruned. Opening a session and appending to the key's stream is one append, under the version of
 * the key's stream that was read: of two replicas that open a session for one key at the same time, one meets a
 * conflict, looks again and finds the other's. An append to the current session needs only that session's version: as
 * long as it is open at that version, nobody can have had a reason to open the next.
 */
export class KeyedSessions {
  readonly #options: KeyedSessionsOptions;
  readonly #lines = new Map<string, Line>();

  constructor(options: KeyedSessionsOptions) {
    this.#options = options;
  }

  /**
   * Looks, plans, appends; on a conflict looks and plans again. `planOn` must be pure, as it may run several times.
   * Within a process one at a time per key: a burst of a hundred webhooks for one key would otherwise conflict with
   * itself in five thousand appends (each of them is decided on the same head, and one wins).
   */
  async execute<Refusal>(
    key: string,
    planOn: (current: Loaded | null) => KeyedPlan<Refusal>,
    options: KeyedOptions,
  ): Promise<KeyedExecuted<Refusal>> {
    const line = this.#lines.get(key) ?? newLine();
    this.#lines.set(key, line);
    line.joined += 1;
    const number = line.joined;
    const before = line.tail;
    const mine = Promise.withResolvers<void>();
    line.tail = mine.promise;
    await before;
    try {
      if (line.failure !== null && number <= line.failure.upTo) throw line.failure.error;
      return await this.#execute(key, line, planOn, options);
    } catch (error) {
      line.seen = null;
      if (isOutage(error)) line.failure ??= { upTo: line.joined, error };
      throw error;
    } finally {
      line.left += 1;
      if (line.left === line.joined) this.#lines.delete(key);
      else if (line.failure !== null && number >= line.failure.upTo) line.failure = null;
      mine.resolve();
    }
  }

  /**
   * A further turn for a session that has ended: it opens a continuation with its config and its transcript, or joins
   * the one that somebody opened before, here or on another replica. Follows the way from one continuation to the
   * next, so that a message to an old id reaches the newest one.
   *
   * @param join what it is to one that is open; a further turn, unless this says otherwise (an answer to its question)
   */
  async continueSession(
    old: Loaded,
    turn: Pick<RequestTurn, 'source' | 'input' | 'queueDeadline'> & { readonly deliveryId: string },
    given: KeyedOptions = {},
    join?: (current: SessionState) => Decision,
  ): Promise<{ readonly status: 'opened' | 'joined' | 'duplicate'; readonly sessionId: SessionId }> {
    // A continuation is a trace of its own (invariant one-trace), also while telemetry is off.
    const options = { ...given, traceparent: given.traceparent ?? traceparentNow() ?? freshTraceparent() };
    const key = continuationKey(old);
    const byKey = (old.state.created?.sessionKey ?? null) !== null;
    const id = newSessionId();
    const fenceSeed = newFenceSeed();
    const executed = await this.execute<Loaded>(
      key,
      (current): KeyedPlan<Loaded> => {
        if (current !== null && current.state.created !== null && current.state.ended === null) {
          const keyed = options.key !== undefined;
          const decision =
            join?.(current.state) ?? decide(current.state, { type: 'request-turn', keyed, ...turn });
          return { to: 'current', facts: factsOf(decision) };
        }
        // Pruned since, or none yet.
        if (current === null || current.state.created === null || byKey) {
          const from = current?.state.created ? current : old;
          const fields = { ...continuation(from), ...turn, fenceSeed };
          return {
            to: 'new',
            id,
            facts: factsOf(decide(initialState(), { type: 'create-session', ...fields })),
          };
        }
        return { to: 'none', refusal: current };
      },
      options,
    );
    switch (executed.status) {
      case 'appended':
        if (executed.to === 'new') linkActiveSpan(old.state.created?.traceparent);
        return { status: executed.to === 'new' ? 'opened' : 'joined', sessionId: executed.loaded.id };
      case 'duplicate':
        return { status: 'duplicate', sessionId: sessionId(executed.streamId) };
      case 'refused':
        return this.continueSession(executed.refusal, turn, options, join);
      case 'limited':
        throw new Error('a continuation without a rate limit was limited');
    }
  }

  async #execute<Refusal>(
    key: string,
    line: Line,
    planOn: (current: Loaded | null) => KeyedPlan<Refusal>,
    options: KeyedOptions,
  ): Promise<KeyedExecuted<Refusal>> {
    const { sessions, log } = this.#options;
    let isFresh = line.seen === null;
    let seen = line.seen ?? (await this.#look(key, null));
    for (let conflicts = 0; conflicts <= MAX_CONFLICTS; conflicts += 1) {
      line.seen = seen;
      const plan = planOn(seen.current);
      if (plan.to === 'none') {
        // Nothing is appended that would find out whether this was taken before, or that what we know is old.
        const known = options.key === undefined ? null : await log.streams.findByKey(options.key.key);
        if (known !== null) return { status: 'duplicate', streamId: known };
        if (isFresh) return { status: 'refused', refusal: plan.refusal };
        isFresh = true;
        seen = await this.#look(key, seen);
        continue;
      }
      const loaded = plan.to === 'new' ? sessions.fresh(plan.id) : seen.current;
      if (loaded === null) throw new Error(`${key} has no current session to append to`);
      if (plan.facts.length === 0) return { status: 'duplicate', streamId: loaded.id };
      const settled = await sessions.append(loaded, plan.facts, {
        ...options,
        beside: plan.to === 'new' ? this.#opened(key, seen.version, plan.id, options) : undefined,
      });
      if (settled === 'conflict') {
        isFresh = true;
        seen = await this.#look(key, seen);
        continue;
      }
      switch (settled.status) {
        case 'appended':
          line.seen = { version: seen.version + (plan.to === 'new' ? 1 : 0), current: settled.loaded };
          return { status: 'appended', to: plan.to, loaded: settled.loaded, facts: plan.facts };
        case 'duplicate':
        case 'limited':
          return settled;
        default:
          throw new Error(`an append under ${key} was answered with ${settled.status}`);
      }
    }
    throw new TooManyConflicts(`${key}: ${MAX_CONFLICTS + 1} appends in a row met a newer version`);
  }

  async #look(key: string, before: Seen | null): Promise<Seen> {
    const head = await this.#options.log.streams.readHead(key);
    if (head === null) return { version: 0, current: null };
    const id = sessionId((head.data as KeyEventData<'key.session-opened'>).session_id);
    const known = before?.current?.id === id ? before.current : null;
    const { sessions } = this.#options;
    const current = known === null ? await sessions.load(id) : await sessions.refresh(known);
    return { version: head.version, current };
  }

  #opened(key: string, version: number, id: SessionId, options: KeyedOptions): StreamAppend {
    const data: KeyEventData<'key.session-opened'> = { session_id: id };
    const meta = {
      actor: options.actor ?? this.#options.instance,
      correlation: id,
      ...(options.traceparent === undefined ? {} : { traceparent: options.traceparent }),
    };
    return {
      streamId: key,
      expectedVersion: version,
      events: [{ eventId: newEventId(), type: 'key.session-opened', data, meta }],
    };
  }
}

/** Not a uuid, so that nothing takes it for a session. The parts are kept apart: no two of them can run together. */
export function keyStream(kind: 'session' | 'coalesce' | 'continues', ...parts: string[]): string {
  return `key-${hash('sha256', JSON.stringify([kind, ...parts]))}`;
}

/** Under which the continuation of a session is found: its session_key, or else its own id. */
export function continuationKey({ id, state }: Pick<Loaded, 'id' | 'state'>): string {
  const { sessionKey, route } = state.created ?? { sessionKey: null, route: '' };
  return sessionKey === null ? keyStream('continues', id) : keyStream('session', route, sessionKey);
}

function newLine(): Line {
  return { tail: Promise.resolve(), joined: 0, left: 0, seen: null, failure: null };
}

function isOutage(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}

/** For decisions that the state which they are made on leaves no reason to refuse. */
function factsOf(decision: Decision): readonly SessionFact[] {
  if (!decision.ok) throw new Error(`a turn under a key was refused (${decision.code}): ${decision.reason}`);
  return decision.events;
}

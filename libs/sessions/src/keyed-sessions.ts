import { hash } from 'node:crypto';
import {
  isRetryable,
  type KeyEventData,
  type SessionFact,
  type SessionId,
  sessionId,
} from '@angelia/contracts';
import type { StreamAppend, Streams } from '@angelia/event-log';
import {
  type CreateSession,
  continuation,
  type Decision,
  decide,
  initialState,
  type RequestTurn,
  type SessionState,
} from '@angelia/session';
import { newEventId, newFenceSeed, newSessionId } from './ids.ts';
import { type AppendOptions, type Loaded, type Sessions, TooManyConflicts } from './sessions.ts';
import { freshTraceparent, linkActiveSpan, nameActiveSession, traceparentNow } from './tracing.ts';

/** What to do under a key, given its current session. */
export type KeyedPlan<Refusal> =
  /** Append to the current session. */
  | { readonly to: 'current'; readonly facts: readonly SessionFact[] }
  /** Open a new session, which is the current one from then on. */
  | { readonly to: 'new'; readonly id: SessionId; readonly facts: readonly SessionFact[] }
  | { readonly to: 'none'; readonly refusal: Refusal };

type KeyedExecuted<Refusal> =
  | {
      readonly status: 'appended';
      readonly to: 'current' | 'new';
      readonly loaded: Loaded;
      readonly facts: readonly SessionFact[];
    }
  | { readonly status: 'duplicate'; readonly streamId: string }
  | { readonly status: 'limited'; readonly retryAfterSeconds: number }
  | { readonly status: 'refused'; readonly refusal: Refusal };

type KeyedOptions = Pick<
  AppendOptions,
  'key' | 'rateLimit' | 'actor' | 'causation' | 'traceparent' | 'beside' | 'fence'
>;

/** Each conflict is progress of somebody else under the same key; see MAX_CONFLICTS in sessions.ts. */
const MAX_CONFLICTS = 200;

interface KeyedSessionsOptions {
  readonly log: { readonly streams: Pick<Streams, 'readHead' | 'findByKey'> };
  readonly sessions: Pick<Sessions, 'fresh' | 'load' | 'refresh' | 'append'>;
  readonly instance: string;
}

/** A key as it was read. */
interface KeyState {
  /** The version of the key's stream. */
  readonly version: number;
  readonly current: Loaded | null;
}

/** The callers in this process that work under the same key, one after the other. */
interface KeyQueue {
  tail: Promise<void>;
  joined: number;
  left: number;
  /** The state that the last caller left; saves the next one a read. A stale one only costs a conflict. */
  state: KeyState | null;
  /** The log failed: callers that had joined by then fail at once, instead of each waiting for the same failure. */
  failure: { readonly upTo: number; readonly error: unknown } | null;
}

/**
 * Sessions that are found by a key: the window of coalesced webhooks, `session_key`, the continuation of a session.
 *
 * A key has its own small stream (`key-...`), with one event per session that was opened under it. The last event names the
 * current session. Pruning removes the events before it, and the whole stream if its last session is gone. Opening a session
 * and appending to the key's stream is one append, at the version of the key's stream that was read: if two replicas open a
 * session for one key at the same time, one meets a conflict, reads again and finds the session of the other. An append to
 * the current session needs only the version of that session: while it is open at that version, nobody had a reason to open
 * the next.
 */
export class KeyedSessions {
  readonly #options: KeyedSessionsOptions;
  readonly #queues = new Map<string, KeyQueue>();

  constructor(options: KeyedSessionsOptions) {
    this.#options = options;
  }

  /**
   * Reads, plans, appends; on a conflict it reads and plans again. `planOn` must be pure, because it may run several times.
   * Within a process, one call at a time works under a key. Otherwise a burst of a hundred webhooks for one key would
   * conflict with itself in five thousand appends: all are decided on the same head, and one wins.
   */
  async execute<Refusal>(
    key: string,
    planOn: (current: Loaded | null) => KeyedPlan<Refusal>,
    options: KeyedOptions,
  ): Promise<KeyedExecuted<Refusal>> {
    const queue = this.#queues.get(key) ?? newQueue();
    this.#queues.set(key, queue);
    queue.joined += 1;
    const number = queue.joined;
    const before = queue.tail;
    const mine = Promise.withResolvers<void>();
    queue.tail = mine.promise;
    await before;
    try {
      if (queue.failure !== null && number <= queue.failure.upTo) throw queue.failure.error;
      return await this.#execute(key, queue, planOn, options);
    } catch (error) {
      queue.state = null;
      if (isRetryable(error)) queue.failure ??= { upTo: queue.joined, error };
      throw error;
    } finally {
      queue.left += 1;
      if (queue.left === queue.joined) this.#queues.delete(key);
      else if (queue.failure !== null && number >= queue.failure.upTo) queue.failure = null;
      mine.resolve();
    }
  }

  /**
   * Requests a further turn for a session that has ended. It opens a continuation with the session's config and transcript,
   * or joins the continuation that somebody opened before, here or on another replica. It follows one continuation to the
   * next, so that a message to an old id reaches the newest one.
   *
   * @param join decides on a continuation that is open; default: a further turn (the caller may have an answer instead)
   */
  async continueSession(
    old: Loaded,
    turn: Pick<RequestTurn, 'source' | 'input' | 'images' | 'files' | 'queueDeadline'> & {
      readonly deliveryId: string;
      /** Where the continuation answers, if not where the old session did: the thread of a reply. */
      readonly deliver?: CreateSession['deliver'];
    },
    given: KeyedOptions = {},
    join?: (current: SessionState) => Decision,
  ): Promise<{ readonly status: 'opened' | 'joined' | 'duplicate'; readonly sessionId: SessionId }> {
    // A continuation has its own trace (invariant one-trace), also while telemetry is off.
    const options = { ...given, traceparent: given.traceparent ?? traceparentNow() ?? freshTraceparent() };
    const key = continuationKey(old);
    const byKey = (old.state.created?.sessionKey ?? null) !== null;
    // A continuation that is open keeps its own address.
    const { deliver: _, ...further } = turn;
    const id = newSessionId();
    const fenceSeed = newFenceSeed();
    const executed = await this.execute<Loaded>(
      key,
      (found): KeyedPlan<Loaded> => {
        // A new conversation may have started since under the key of a chat (`/new`). The old one continues beside it.
        const current = byKey && found !== null && !isSameConversation(found, old) ? null : found;
        if (current !== null && current.state.created !== null && current.state.ended === null) {
          const keyed = options.key !== undefined;
          const decision =
            join?.(current.state) ?? decide(current.state, { type: 'request-turn', keyed, ...further });
          return { to: 'current', facts: factsOf(decision) };
        }
        // There is none yet, or it was pruned since.
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
        nameActiveSession(executed.loaded.id);
        return { status: executed.to === 'new' ? 'opened' : 'joined', sessionId: executed.loaded.id };
      case 'duplicate':
        return { status: 'duplicate', sessionId: sessionId(executed.streamId) };
      case 'refused':
        return this.continueSession(executed.refusal, turn, options, join);
      case 'limited':
        throw new Error('a continuation has no rate limit, but was limited');
    }
  }

  async #execute<Refusal>(
    key: string,
    queue: KeyQueue,
    planOn: (current: Loaded | null) => KeyedPlan<Refusal>,
    options: KeyedOptions,
  ): Promise<KeyedExecuted<Refusal>> {
    const { sessions, log } = this.#options;
    let isFresh = queue.state === null;
    let state = queue.state ?? (await this.#read(key, null));
    for (let conflicts = 0; conflicts <= MAX_CONFLICTS; conflicts += 1) {
      queue.state = state;
      const plan = planOn(state.current);
      if (plan.to === 'none') {
        // No append will find out whether this key was taken before, or whether our state is stale.
        const known = options.key === undefined ? null : await log.streams.findByKey(options.key.key);
        if (known !== null) return { status: 'duplicate', streamId: known };
        if (isFresh) return { status: 'refused', refusal: plan.refusal };
        isFresh = true;
        state = await this.#read(key, state);
        continue;
      }
      const loaded = plan.to === 'new' ? sessions.fresh(plan.id) : state.current;
      if (loaded === null) throw new Error(`${key} has no current session to append to`);
      if (plan.facts.length === 0) return { status: 'duplicate', streamId: loaded.id };
      const settled = await sessions.append(loaded, plan.facts, {
        ...options,
        beside: [
          ...(options.beside ?? []),
          ...(plan.to === 'new' ? [this.#opened(key, state.version, plan.id, options)] : []),
        ],
      });
      if (settled === 'conflict') {
        isFresh = true;
        state = await this.#read(key, state);
        continue;
      }
      switch (settled.status) {
        case 'appended':
          queue.state = { version: state.version + (plan.to === 'new' ? 1 : 0), current: settled.loaded };
          return { status: 'appended', to: plan.to, loaded: settled.loaded, facts: plan.facts };
        case 'duplicate':
        case 'limited':
          return settled;
        default:
          throw new Error(`an append under ${key} returned ${settled.status}`);
      }
    }
    throw new TooManyConflicts(`${key}: ${MAX_CONFLICTS + 1} appends in a row met a conflict`);
  }

  async #read(key: string, before: KeyState | null): Promise<KeyState> {
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

/** Not a uuid, so that nothing takes it for a session. JSON keeps the parts apart: `a`, `bc` and `ab`, `c` differ. */
export function keyStream(kind: 'session' | 'coalesce' | 'continues', ...parts: string[]): string {
  return `key-${hash('sha256', JSON.stringify([kind, ...parts]))}`;
}

/** The key of a session's continuation: its `session_key`, or else its own id. */
export function continuationKey({ id, state }: Pick<Loaded, 'id' | 'state'>): string {
  const { sessionKey, route } = state.created ?? { sessionKey: null, route: '' };
  return sessionKey === null ? keyStream('continues', id) : keyStream('session', route, sessionKey);
}

/** A pruned session matches any conversation, because nothing is known about it. */
function isSameConversation(a: Loaded, b: Loaded): boolean {
  if (a.state.created === null || b.state.created === null) return true;
  return (a.state.created.conversationId ?? a.id) === (b.state.created.conversationId ?? b.id);
}

function newQueue(): KeyQueue {
  return { tail: Promise.resolve(), joined: 0, left: 0, state: null, failure: null };
}

/** For decisions that the state leaves no reason to refuse. */
function factsOf(decision: Decision): readonly SessionFact[] {
  if (!decision.ok) throw new Error(`a turn under a key was refused (${decision.code}): ${decision.reason}`);
  return decision.events;
}

import { isSessionId } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Database } from '../connection/database.ts';
import { codeOf, messageOf } from '../connection/postgres-errors.ts';
import { LogClosed, LogOverloaded, LogUnavailable, UnstorableEvent } from '../errors.ts';
import { type EventHint, hintsOf } from './hints-of.ts';
import { type PreparedAppend, prepareAppend } from './prepare.ts';
import type { AppendRequest, AppendResult } from './request.ts';
import { sendAppends } from './statement.ts';

/** Each stream is one lock of the transaction. Postgres' lock table holds 64 per connection by default. */
const MAX_STREAMS_PER_BATCH = 256;
/** A larger batch only takes longer: the cost of the rows themselves is all that is left. */
const MAX_BYTES_PER_BATCH = 2 * 1024 * 1024;
/** About a second of work at full speed. A longer queue would only become timeouts at the callers. */
const MAX_QUEUED = 20_000;
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
const FIRST_RETRY_MS = 25;
const LAST_RETRY_MS = 250;

interface Pending {
  readonly prepared: PreparedAppend;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
  /** Others with the same key, such as fifty copies of one webhook. One is sent; its result answers the rest. */
  followers: Pending[];
}

/**
 * Group commit without a timer. idle -> an append arrives -> its flush is sent. What arrives while that is in flight waits
 * and becomes the next flush. There is one flush at a time: an idle log costs one commit of latency, a busy one shares
 * each commit among all who wait. A stream, a key, a lease or a pool occurs at most once in a flush; a second append for
 * it waits for the next flush, so that each append is decided on a known head.
 */
export class GroupCommit {
  #queue: Pending[] = [];
  #queuedBytes = 0;
  #running: Promise<void> | undefined;
  #closed = false;
  /** Since when every flush has failed (monotonic). While Postgres is down, callers get the error at once and do not wait each. */
  #downSince: number | undefined;
  readonly #database: Database;
  readonly #holder: string;
  readonly #onCommitted: (hints: readonly EventHint[]) => void;
  readonly #onFlushed: (appends: number, ms: number) => void;
  readonly #spans: boolean;

  constructor(
    database: Database,
    holder: string,
    onCommitted: (hints: readonly EventHint[]) => void,
    onFlushed: (appends: number, ms: number) => void,
    spans: boolean,
  ) {
    this.#database = database;
    this.#holder = holder;
    this.#onCommitted = onCommitted;
    this.#onFlushed = onFlushed;
    this.#spans = spans;
  }

  /**
   * If asked for, each append has its own span (one-trace), named by its first event, under the active span. The shared flush
   * belongs to no trace.
   */
  append(request: AppendRequest): Promise<AppendResult> {
    if (!this.#spans || trace.getActiveSpan() === undefined) return this.#enqueue(request);
    const first = request.streams[0]?.events[0]?.type ?? 'lease';
    const stream = request.streams[0]?.streamId ?? '';
    const span = trace.getTracer('@angelia/event-log').startSpan(`append ${first}`, {
      kind: SpanKind.CLIENT,
      attributes: {
        // The key of the session's id in all spans (libs/sessions, tracing.ts). A few streams are not sessions.
        ...(isSessionId(stream) ? { 'gen_ai.conversation.id': stream } : { 'angelia.stream_id': stream }),
        'angelia.event_types': request.streams.flatMap((stream) => stream.events.map((event) => event.type)),
      },
    });
    return this.#enqueue(request).then(
      (result) => {
        span.setAttribute('angelia.verdict', result.status).end();
        return result;
      },
      (error: unknown) => {
        span.setStatus({ code: SpanStatusCode.ERROR, message: codeOf(error) ?? 'error' }).end();
        throw error;
      },
    );
  }

  #enqueue(request: AppendRequest): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new LogClosed('the log is closed');
      const prepared = prepareAppend(request);
      if (this.#queue.length >= MAX_QUEUED || this.#queuedBytes + prepared.bytes > MAX_QUEUED_BYTES) {
        throw new LogOverloaded(`${this.#queue.length} appends wait for Postgres: slow down and try again`);
      }
      this.#queue.push({ prepared, resolve, reject, followers: [] });
      this.#queuedBytes += prepared.bytes;
      this.#running ??= context.with(ROOT_CONTEXT, () => this.#run());
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // When idle, only what the same callback appends comes along: a lone append must not wait for the event loop.
    await null;
    while (this.#queue.length > 0) {
      await this.#flush(this.#pick());
      // So that what the callers append next, and requests that came in meanwhile, share the next commit.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#running = undefined;
  }

  /** In order of arrival. Never passes an earlier append to the same stream. */
  #pick(): Pending[] {
    const batch: Pending[] = [];
    const taken = new Set<string>();
    const byKey = new Map<string, Pending>();
    const left: Pending[] = [];
    let streams = 0;
    let bytes = 0;
    let next = 0;
    for (; next < this.#queue.length; next += 1) {
      const pending = this.#queue[next] as Pending;
      const { request, bytes: size } = pending.prepared;
      const full =
        streams + request.streams.length > MAX_STREAMS_PER_BATCH || bytes + size > MAX_BYTES_PER_BATCH;
      if (full && batch.length > 0) break;
      const ahead = request.key && byKey.get(request.key.key);
      if (ahead) {
        ahead.followers.push(pending);
        this.#queuedBytes -= size;
        continue;
      }
      const names = namesOf(request);
      const waits = names.some((name) => taken.has(name));
      for (const name of names) taken.add(name);
      if (waits) {
        left.push(pending);
        continue;
      }
      if (request.key) byKey.set(request.key.key, pending);
      batch.push(pending);
      streams += request.streams.length;
      bytes += size;
      this.#queuedBytes -= size;
    }
    this.#queue = left.concat(this.#queue.slice(next));
    return batch;
  }

  async #flush(batch: readonly Pending[]): Promise<void> {
    try {
      const startedAt = performance.now();
      const results = await this.#send(batch);
      this.#onFlushed(batch.length, performance.now() - startedAt);
      this.#tellCommitted(batch.filter((_, index) => results[index]?.status === 'appended'));
      for (const [index, pending] of batch.entries()) this.#settle(pending, results[index] as AppendResult);
    } catch (error) {
      if (error instanceof UnstorableEvent && batch.length > 1) {
        // Our checks passed something that Postgres refuses. Halve the batch until only that append fails.
        const middle = batch.length >> 1;
        await this.#flush(batch.slice(0, middle));
        await this.#flush(batch.slice(middle));
        return;
      }
      if (error instanceof UnstorableEvent) {
        for (const pending of batch) {
          pending.reject(error);
          this.#putBack(pending.followers);
        }
        return;
      }
      // The queued ones would fail too, each after its own wait. A hung Postgres must not hold a queue for minutes.
      for (const pending of batch) for (const one of [pending, ...pending.followers]) one.reject(error);
      for (const pending of this.#queue) pending.reject(error);
      this.#queue = [];
      this.#queuedBytes = 0;
    }
  }

  /** Sends the batch again when the answer is lost: event ids make the repetition harmless. */
  async #send(batch: readonly Pending[]): Promise<AppendResult[]> {
    const prepared = batch.map((pending) => pending.prepared);
    for (let attempt = 1, wait = FIRST_RETRY_MS; ; attempt += 1, wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        const results = await sendAppends(this.#database.durable, this.#holder, prepared);
        this.#downSince = undefined;
        return results;
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        this.#downSince ??= performance.now();
        const long = performance.now() - this.#downSince >= this.#database.timeouts.retryMs;
        // Always try twice: the first try may only have hit a connection that died in an earlier outage.
        if (this.#closed || (long && attempt > 1)) throw error;
        await pause(wait);
      }
    }
  }

  /** Before the callers go on: the next service can begin while they do. A lost hint changes nothing: the relay follows. */
  #tellCommitted(appended: readonly Pending[]): void {
    if (appended.length === 0) return;
    try {
      this.#onCommitted(appended.flatMap((pending) => hintsOf(pending.prepared.request)));
    } catch (error) {
      this.#database.logger.error({ err: messageOf(error) }, 'onCommitted threw');
    }
  }

  #settle(pending: Pending, result: AppendResult): void {
    pending.resolve(result);
    if (pending.followers.length === 0) return;
    const first = pending.prepared.request.streams[0];
    if (result.status === 'duplicate') {
      for (const follower of pending.followers) follower.resolve(result);
    } else if (result.status === 'appended' && first) {
      const { streamId, expectedVersion, events } = first;
      const known = {
        streamId,
        firstVersion: expectedVersion + 1,
        lastVersion: expectedVersion + events.length,
      };
      for (const follower of pending.followers) follower.resolve({ status: 'duplicate', ...known });
    } else {
      this.#putBack(pending.followers);
    }
  }

  #putBack(followers: Pending[]): void {
    for (const follower of followers) this.#queuedBytes += follower.prepared.bytes;
    this.#queue = followers.concat(this.#queue);
  }
}

function namesOf(request: AppendRequest): string[] {
  const names = request.streams.map((stream) => stream.streamId);
  if (request.key) names.push(`key ${request.key.key}`);
  if (request.lease) {
    names.push(`lease ${request.lease.resource}`);
    if ('pool' in request.lease && request.lease.pool) names.push(`pool ${request.lease.pool.name}`);
  }
  return names;
}

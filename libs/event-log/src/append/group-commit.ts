import { pause } from '@angelia/waiting';
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Database } from '../connection/database.ts';
import { messageOf } from '../connection/postgres-errors.ts';
import { LogClosed, LogOverloaded, LogUnavailable, UnstorableEvent } from '../errors.ts';
import type { AppendRequest, AppendResult } from './request.ts';
import { type PreparedAppend, prepareAppend, sendAppends } from './statement.ts';

/** Each stream is a lock of the transaction: Postgres' lock table holds 64 per connection by default. */
const MAX_STREAMS_PER_BATCH = 256;
/** Beyond this a batch only takes longer: the rows' own cost is all that is left of it. */
const MAX_BYTES_PER_BATCH = 2 * 1024 * 1024;
/** About a second of work at full speed. More waiting would only turn into timeouts at the callers. */
const MAX_QUEUED = 20_000;
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
const FIRST_RETRY_MS = 25;
const LAST_RETRY_MS = 250;

interface Pending {
  readonly prepared: PreparedAppend;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
  /** Others with the same key: fifty copies of one webhook. One goes ahead, its result answers the rest. */
  followers: Pending[];
}

/**
 * Group commit without a timer. idle -> an append arrives -> its flush is sent; what arrives while that is in flight
 * waits, and is the next flush. One flush at a time: an idle log costs one commit of latency, a busy one shares each
 * commit among all who wait. A stream, a key, a lease and a pool go into a flush at most once; the second waits for the next,
 * so that each is decided on a head that is known.
 */
export class AppendBatcher {
  private queue: Pending[] = [];
  private queuedBytes = 0;
  private running: Promise<void> | undefined;
  private closed = false;
  /** Since when nothing came through (monotonic). While it is down, callers hear of it at once instead of each waiting. */
  private downSince: number | undefined;
  private readonly database: Database;
  private readonly holder: string;
  private readonly onCommitted: () => void;
  private readonly onFlushed: (appends: number, ms: number) => void;

  constructor(
    database: Database,
    holder: string,
    onCommitted: () => void,
    onFlushed: (appends: number, ms: number) => void,
  ) {
    this.database = database;
    this.holder = holder;
    this.onCommitted = onCommitted;
    this.onFlushed = onFlushed;
  }

  /** A span of its own for each append (one-trace), named by its first event, under whatever is active; the shared flush belongs to no trace. */
  append(request: AppendRequest): Promise<AppendResult> {
    if (trace.getActiveSpan() === undefined) return this.enqueue(request);
    const first = request.streams[0]?.events[0]?.type ?? 'lease';
    const span = trace.getTracer('@angelia/event-log').startSpan(`append ${first}`, {
      kind: SpanKind.CLIENT,
      attributes: {
        'angelia.stream_id': request.streams[0]?.streamId ?? '',
        'angelia.event_types': request.streams.flatMap((stream) => stream.events.map((event) => event.type)),
      },
    });
    return this.enqueue(request).then(
      (result) => {
        span.setAttribute('angelia.verdict', result.status).end();
        return result;
      },
      (error: unknown) => {
        span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) }).end();
        throw error;
      },
    );
  }

  private enqueue(request: AppendRequest): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      if (this.closed) throw new LogClosed('the log is closed');
      const prepared = prepareAppend(request);
      if (this.queue.length >= MAX_QUEUED || this.queuedBytes + prepared.bytes > MAX_QUEUED_BYTES) {
        throw new LogOverloaded(
          `${this.queue.length} appends are waiting for Postgres: slow down and try again`,
        );
      }
      this.queue.push({ prepared, resolve, reject, followers: [] });
      this.queuedBytes += prepared.bytes;
      this.running ??= context.with(ROOT_CONTEXT, () => this.run());
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.running;
  }

  private async run(): Promise<void> {
    while (this.queue.length > 0) {
      // The other callbacks of this turn of the event loop come along.
      await new Promise((resolve) => setImmediate(resolve));
      await this.flush(this.pick());
    }
    this.running = undefined;
  }

  /** In order of arrival, but never past an earlier append to the same stream. */
  private pick(): Pending[] {
    const batch: Pending[] = [];
    const taken = new Set<string>();
    const byKey = new Map<string, Pending>();
    const left: Pending[] = [];
    let streams = 0;
    let bytes = 0;
    let next = 0;
    for (; next < this.queue.length; next += 1) {
      const pending = this.queue[next] as Pending;
      const { request, bytes: size } = pending.prepared;
      const full =
        streams + request.streams.length > MAX_STREAMS_PER_BATCH || bytes + size > MAX_BYTES_PER_BATCH;
      if (full && batch.length > 0) break;
      const ahead = request.key && byKey.get(request.key.key);
      if (ahead) {
        ahead.followers.push(pending);
        this.queuedBytes -= size;
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
      this.queuedBytes -= size;
    }
    this.queue = left.concat(this.queue.slice(next));
    return batch;
  }

  private async flush(batch: readonly Pending[]): Promise<void> {
    try {
      const begun = performance.now();
      const results = await this.send(batch);
      this.onFlushed(batch.length, performance.now() - begun);
      if (results.some((result) => result.status === 'appended')) this.tellCommitted();
      for (const [index, pending] of batch.entries()) this.settle(pending, results[index] as AppendResult);
    } catch (error) {
      if (error instanceof UnstorableEvent && batch.length > 1) {
        // Something in it that we took for storable: halve it until only the guilty one fails.
        const middle = batch.length >> 1;
        await this.flush(batch.slice(0, middle));
        await this.flush(batch.slice(middle));
        return;
      }
      if (error instanceof UnstorableEvent) {
        for (const pending of batch) {
          pending.reject(error);
          this.putBack(pending.followers);
        }
        return;
      }
      // Those behind would meet the same, each after a wait of its own: a hung Postgres must not hold a queue for minutes.
      for (const pending of batch) for (const one of [pending, ...pending.followers]) one.reject(error);
      for (const pending of this.queue) pending.reject(error);
      this.queue = [];
      this.queuedBytes = 0;
    }
  }

  /** A lost answer is asked for again: event ids make the repetition harmless. */
  private async send(batch: readonly Pending[]): Promise<AppendResult[]> {
    const prepared = batch.map((pending) => pending.prepared);
    for (let attempt = 1, wait = FIRST_RETRY_MS; ; attempt += 1, wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        const results = await sendAppends(this.database.durable, this.holder, prepared);
        this.downSince = undefined;
        return results;
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        this.downSince ??= performance.now();
        const long = performance.now() - this.downSince >= this.database.timeouts.retryMs;
        // Always a second try: the first may have met nothing but a connection that died with an earlier outage.
        if (this.closed || (long && attempt > 1)) throw error;
        await pause(wait);
      }
    }
  }

  /** The events are committed whatever becomes of the ping: the relay polls as a floor. */
  private tellCommitted(): void {
    try {
      this.onCommitted();
    } catch (error) {
      this.database.logger.error({ err: messageOf(error) }, 'onCommitted threw');
    }
  }

  private settle(pending: Pending, result: AppendResult): void {
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
      this.putBack(pending.followers);
    }
  }

  private putBack(followers: Pending[]): void {
    for (const follower of followers) this.queuedBytes += follower.prepared.bytes;
    this.queue = followers.concat(this.queue);
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

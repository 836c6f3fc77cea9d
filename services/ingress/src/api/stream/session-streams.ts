import type { ServerResponse } from 'node:http';
import { type SessionId, TAIL_PING_SUBJECT } from '@angelia/contracts';
import type { Streams } from '@angelia/event-log';
import { BUS, DRAIN, type Drain, EVENT_LOG, LOGGER, type Logger } from '@angelia/service-kit';
import { agenda, evolveAll, initialState, type SessionState } from '@angelia/session';
import { upcast } from '@angelia/sessions';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { HEARTBEAT_MS, RECONNECT_MS, STOPPING, STUCK_MS, startEventStream } from '../../http/event-stream.ts';
import { Refusal } from '../../http/refusal.ts';
import { eventJson } from '../sessions/event-json.ts';
import { unknownSession } from '../sessions/session-id.ts';

/**
 * `GET /v1/sessions/{id}/stream`: stored events, then new ones, until the session is settled.
 *
 * The ping that every service sends after a commit wakes it, as it wakes the relay. The relay's hints come later and leave
 * out frequent facts (contracts/subjects.ts). A ping names no stream, so all open streams of this process are read
 * together, 64 per query by the primary key, at most every READ_GAP_MS however many commits there are. Pings are
 * subscribed to only while a stream is open. Pings may be lost (NATS is away): then an event is up to POLL_MS late.
 */
const READ_GAP_MS = 100;
const POLL_MS = 1_000;
/** Each costs a socket, a fold and a row in the query: 200 are four small queries per read. */
export const MOST_STREAMS = 200;
interface Stream {
  readonly id: SessionId;
  readonly response: ServerResponse;
  /** Of the last event that was sent. */
  version: number;
  /** Folded, to know when the session is settled. */
  state: SessionState;
  /** Since when its buffer is full; null: it can take more. */
  stuckSince: number | null;
}

@Injectable()
export class SessionStreams implements OnModuleInit {
  readonly #open = new Set<Stream>();
  /** Streams that are read for the first time. They count, so that a burst cannot exceed the limit. */
  #opening = 0;
  #closing = false;
  #unsubscribe: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  // Times are monotonic: otherwise a clock that is set back by an hour would stop every stream for an hour.
  #timerDueAt = 0;
  #reading = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #heartbeatAt = Number.NEGATIVE_INFINITY;

  constructor(
    @Inject(EVENT_LOG) private readonly log: { readonly streams: Pick<Streams, 'read'> },
    @Inject(BUS) private readonly bus: { subscribe(subject: string, listener: () => void): () => void },
    @Inject(DRAIN) private readonly drain: Drain,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
  ) {}

  /** How many are open now. */
  get size(): number {
    return this.#open.size;
  }

  onModuleInit(): void {
    // Before the server waits for its requests to end, because these would not.
    this.adapter.httpAdapter.getInstance<FastifyInstance>().addHook('preClose', async () => {
      this.#closing = true;
      for (const stream of [...this.#open]) this.#end(stream, STOPPING);
    });
  }

  /**
   * Answers with the events after `lastEventId` until the session is settled.
   * @throws Refusal 404, 400 for an id ahead of the session, 503 if too many are open or the service drains
   */
  async answer(reply: FastifyReply, id: SessionId, lastEventId: number | null): Promise<void> {
    if (this.drain.draining || this.#open.size + this.#opening >= MOST_STREAMS) {
      throw new Refusal(
        503,
        'too_many_streams',
        `this server cannot open another stream (at most ${MOST_STREAMS} at once): try again later, or poll .../events`,
        RECONNECT_MS / 1000,
      );
    }
    this.#opening += 1;
    try {
      const events = (await this.log.streams.read(id)).map((event) => upcast(event));
      const last = events.at(-1);
      if (last === undefined) {
        throw unknownSession();
      }
      if (lastEventId !== null && lastEventId > last.version) {
        throw new Refusal(
          400,
          'bad_last_event_id',
          `header \`Last-Event-ID\`: ${lastEventId} is ahead of this session, whose last event is ${last.version}`,
        );
      }
      const state = evolveAll(initialState(), events);
      // 204 is the only answer after which an EventSource does not connect again.
      if (lastEventId === last.version && agenda(state).settled) {
        reply.code(204).send();
        return;
      }
      const response = startEventStream(reply);
      if (response === null) return;
      const stream: Stream = { id, response, version: lastEventId ?? 0, state, stuckSince: null };
      this.#follow(stream);
      this.#send(stream, `retry: ${RECONNECT_MS}\n\n`);
      this.#sendEvents(stream, events);
      // The server began to close during the read.
      if (this.#closing) this.#end(stream, STOPPING);
    } finally {
      this.#opening -= 1;
    }
  }

  #follow(stream: Stream): void {
    this.#open.add(stream);
    stream.response.on('close', () => this.#forget(stream));
    stream.response.on('drain', () => {
      stream.stuckSince = null;
      this.#wake(READ_GAP_MS);
    });
    // A broken socket emits `close` right after.
    stream.response.on('error', () => {});
    this.#unsubscribe ??= this.bus.subscribe(TAIL_PING_SUBJECT, () => this.#wake(0));
    // For events that were committed since the read.
    this.#wake(0);
  }

  #forget(stream: Stream): void {
    if (!this.#open.delete(stream) || this.#open.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Reads within this time, but not sooner than READ_GAP_MS after the last read. */
  #wake(inMs: number): void {
    if (this.#open.size === 0) return;
    const now = performance.now();
    const dueAt = Math.max(now + inMs, this.#readAt + READ_GAP_MS);
    if (this.#timer !== null) {
      if (this.#timerDueAt <= dueAt) return;
      clearTimeout(this.#timer);
    }
    this.#timerDueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#read();
    }, dueAt - now);
  }

  async #read(): Promise<void> {
    // While a read is in flight (the database is slow) no second one starts; the next one follows it.
    if (this.#reading) return this.#wake(READ_GAP_MS);
    this.#reading = true;
    this.#readAt = performance.now();
    this.#keepAlive(this.#readAt);
    const ready = [...this.#open].filter((stream) => stream.stuckSince === null);
    const reads = await Promise.allSettled(ready.map((stream) => this.#advance(stream)));
    this.#reading = false;
    const failed = reads.find((read) => read.status === 'rejected');
    // The log is away, and logs that itself. Clients stay connected and get what they missed when it is back.
    if (failed !== undefined)
      this.logger.debug({ err: failed.reason }, 'session streams: cannot read the log; will retry');
    this.#wake(POLL_MS);
  }

  async #advance(stream: Stream): Promise<void> {
    const events = (await this.log.streams.read(stream.id, stream.state.version + 1)).map((event) =>
      upcast(event),
    );
    stream.state = evolveAll(stream.state, events);
    this.#sendEvents(stream, events);
  }

  #sendEvents(stream: Stream, events: readonly Parameters<typeof eventJson>[0][]): void {
    const unseen = events.filter(({ version }) => version > stream.version);
    const last = unseen.at(-1);
    if (last !== undefined) {
      stream.version = last.version;
      this.#send(stream, unseen.map(eventText).join(''));
    }
    if (agenda(stream.state).settled) this.#end(stream, 'the session is settled');
  }

  #keepAlive(now: number): void {
    for (const stream of this.#open) {
      if (stream.stuckSince !== null && now - stream.stuckSince > STUCK_MS) stream.response.destroy();
    }
    if (now - this.#heartbeatAt < HEARTBEAT_MS) return;
    this.#heartbeatAt = now;
    for (const stream of this.#open) if (stream.stuckSince === null) this.#send(stream, ':\n\n');
  }

  #send(stream: Stream, text: string): void {
    if (!this.#open.has(stream)) return;
    if (!stream.response.write(text)) stream.stuckSince ??= performance.now();
  }

  #end(stream: Stream, comment: string): void {
    if (!this.#open.has(stream)) return;
    this.#send(stream, `: ${comment}\n\n`);
    this.#forget(stream);
    stream.response.end();
  }
}

/** Without an `event:` field, so that `onmessage` of an EventSource gets every event. The type is in the data. */
function eventText(event: Parameters<typeof eventJson>[0]): string {
  return `id: ${event.version}\ndata: ${JSON.stringify(eventJson(event))}\n\n`;
}

import type { ServerResponse } from 'node:http';
import { type SessionId, TAIL_PING_SUBJECT } from '@angelia/contracts';
import type { Streams } from '@angelia/event-log';
import { BUS, DRAIN, type Drain, EVENT_LOG, LOGGER, type Logger } from '@angelia/service-kit';
import { agenda, evolveAll, initialState, type SessionState } from '@angelia/session';
import { upcast } from '@angelia/sessions';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Refusal } from '../../http/refusal.ts';
import { eventJson } from '../sessions/event-json.ts';

/**
 * `GET /v1/sessions/{id}/stream`: what is stored, then what happens, until the session is settled.
 *
 * Woken by the ping that every service sends after a commit, the same that wakes the relay: the hints of the relay leave
 * out the frequent facts (contracts/subjects.ts), and come later. A ping names no stream, so all open streams of this
 * process are looked up together, 64 per query by the primary key, at most every LOOK_GAP_MS however many commits
 * there are. Only while a stream is open are the pings subscribed to. Pings may be lost (NATS is away): POLL_MS is
 * how late an event comes then.
 */
const LOOK_GAP_MS = 100;
const POLL_MS = 1_000;
/** Proxies drop a connection that was silent for 30 to 60 s. */
const HEARTBEAT_MS = 15_000;
/** A reader that takes nothing for this long is gone, or might as well be: it resumes with Last-Event-ID. */
const STUCK_MS = 30_000;
/** Each costs a socket, a fold and a row in the look-up: 200 are four small queries per look. */
export const MOST_STREAMS = 200;
/** Where the reader comes again after a drain, or a full house. */
const RECONNECT_MS = 2_000;
const GOING_DOWN = 'this server is going down: connect again';

interface Stream {
  readonly id: SessionId;
  readonly response: ServerResponse;
  /** Up to here it was sent. */
  version: number;
  /** Folded, to know when all is settled. */
  state: SessionState;
  /** Since when its buffer is full; null: it takes more. */
  stuckSince: number | null;
}

@Injectable()
export class LiveStreams implements OnModuleInit {
  private readonly open = new Set<Stream>();
  /** Being read for the first time: counted, so that a burst cannot pass the bound. */
  private opening = 0;
  private closing = false;
  private unsubscribe: (() => void) | null = null;
  private timer: NodeJS.Timeout | null = null;
  // Times are monotonic: a clock that is set back by an hour would else stop every stream for an hour.
  private timerDueAt = 0;
  private looking = false;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private heartbeatAt = Number.NEGATIVE_INFINITY;

  constructor(
    @Inject(EVENT_LOG) private readonly log: { readonly streams: Pick<Streams, 'read'> },
    @Inject(BUS) private readonly bus: { subscribe(subject: string, listener: () => void): () => void },
    @Inject(DRAIN) private readonly drain: Drain,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
  ) {}

  /** How many are open now. */
  get size(): number {
    return this.open.size;
  }

  onModuleInit(): void {
    // Before the server waits for its requests to end: these would not.
    this.adapter.httpAdapter.getInstance<FastifyInstance>().addHook('preClose', async () => {
      this.closing = true;
      for (const stream of [...this.open]) this.end(stream, GOING_DOWN);
    });
  }

  /**
   * Answers with the events after `lastEventId`, for as long as the session goes on.
   * @throws Refusal 404, 400 for an id that is ahead of the session, 503 when too many are open or it drains
   */
  async answer(reply: FastifyReply, id: SessionId, lastEventId: number | null): Promise<void> {
    if (this.drain.draining || this.open.size + this.opening >= MOST_STREAMS) {
      throw new Refusal(
        503,
        'too_many_streams',
        `no further stream can be opened here (at most ${MOST_STREAMS} at once): come again later, or poll .../events`,
        RECONNECT_MS / 1000,
      );
    }
    this.opening += 1;
    try {
      const events = (await this.log.streams.read(id)).map((event) => upcast(event));
      const last = events.at(-1);
      if (last === undefined) {
        throw new Refusal(
          404,
          'unknown_session',
          'there is no session with this id; it may have been pruned',
        );
      }
      if (lastEventId !== null && lastEventId > last.version) {
        throw new Refusal(
          400,
          'bad_last_event_id',
          `header \`Last-Event-ID\`: ${lastEventId} is ahead of this session, whose last event is ${last.version}`,
        );
      }
      const state = evolveAll(initialState(), events);
      // The one answer after which an EventSource does not connect again.
      if (lastEventId === last.version && agenda(state).settled) {
        reply.code(204).send();
        return;
      }
      reply.hijack();
      const response = reply.raw;
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        // nginx would collect events until its buffer is full.
        'x-accel-buffering': 'no',
      });
      if (reply.request.method === 'HEAD') {
        response.end();
        return;
      }
      const stream: Stream = { id, response, version: lastEventId ?? 0, state, stuckSince: null };
      this.follow(stream);
      this.send(stream, `retry: ${RECONNECT_MS}\n\n`);
      this.sendEvents(stream, events);
      // It began to close while this one was being read.
      if (this.closing) this.end(stream, GOING_DOWN);
    } finally {
      this.opening -= 1;
    }
  }

  private follow(stream: Stream): void {
    this.open.add(stream);
    stream.response.on('close', () => this.forget(stream));
    stream.response.on('drain', () => {
      stream.stuckSince = null;
      this.wake(LOOK_GAP_MS);
    });
    // A socket that broke is closed right after.
    stream.response.on('error', () => {});
    this.unsubscribe ??= this.bus.subscribe(TAIL_PING_SUBJECT, () => this.wake(0));
    // What was committed between the read and now.
    this.wake(0);
  }

  private forget(stream: Stream): void {
    if (!this.open.delete(stream) || this.open.size > 0) return;
    this.unsubscribe?.();
    this.unsubscribe = null;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Look within this time, and not sooner than LOOK_GAP_MS after the last look. */
  private wake(inMs: number): void {
    if (this.open.size === 0) return;
    const now = performance.now();
    const dueAt = Math.max(now + inMs, this.lookedAt + LOOK_GAP_MS);
    if (this.timer !== null) {
      if (this.timerDueAt <= dueAt) return;
      clearTimeout(this.timer);
    }
    this.timerDueAt = dueAt;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.look();
    }, dueAt - now);
  }

  private async look(): Promise<void> {
    // A look that takes long (the database is slow) is not joined by a second one; the next follows it.
    if (this.looking) return this.wake(LOOK_GAP_MS);
    this.looking = true;
    this.lookedAt = performance.now();
    this.keepAlive(this.lookedAt);
    const ready = [...this.open].filter((stream) => stream.stuckSince === null);
    const looks = await Promise.allSettled(ready.map((stream) => this.advance(stream)));
    this.looking = false;
    const failed = looks.find((look) => look.status === 'rejected');
    // The log is away, and says so itself: the readers stay, and get what they missed when it is back.
    if (failed !== undefined) this.logger.debug({ err: failed.reason }, 'live streams: no look at the log');
    this.wake(POLL_MS);
  }

  private async advance(stream: Stream): Promise<void> {
    const events = (await this.log.streams.read(stream.id, stream.state.version + 1)).map((event) =>
      upcast(event),
    );
    stream.state = evolveAll(stream.state, events);
    this.sendEvents(stream, events);
  }

  private sendEvents(stream: Stream, events: readonly Parameters<typeof eventJson>[0][]): void {
    const unseen = events.filter(({ version }) => version > stream.version);
    const last = unseen.at(-1);
    if (last !== undefined) {
      stream.version = last.version;
      this.send(stream, unseen.map(eventText).join(''));
    }
    if (agenda(stream.state).settled) this.end(stream, 'the session is settled');
  }

  private keepAlive(now: number): void {
    for (const stream of this.open) {
      if (stream.stuckSince !== null && now - stream.stuckSince > STUCK_MS) stream.response.destroy();
    }
    if (now - this.heartbeatAt < HEARTBEAT_MS) return;
    this.heartbeatAt = now;
    for (const stream of this.open) if (stream.stuckSince === null) this.send(stream, ':\n\n');
  }

  private send(stream: Stream, text: string): void {
    if (!this.open.has(stream)) return;
    if (!stream.response.write(text)) stream.stuckSince ??= performance.now();
  }

  private end(stream: Stream, comment: string): void {
    if (!this.open.has(stream)) return;
    this.send(stream, `: ${comment}\n\n`);
    this.forget(stream);
    stream.response.end();
  }
}

/** No `event:` field, so that `onmessage` of an EventSource gets all of them; the type is in the data. */
function eventText(event: Parameters<typeof eventJson>[0]): string {
  return `id: ${event.version}\ndata: ${JSON.stringify(eventJson(event))}\n\n`;
}

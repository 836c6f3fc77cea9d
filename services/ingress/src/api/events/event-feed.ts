import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TAIL_PING_SUBJECT } from '@angelia/contracts';
import { cursorText, type Streams, type Tail, type TailCursor } from '@angelia/event-log';
import { BUS, DRAIN, type Drain, EVENT_LOG, LOGGER, type Logger } from '@angelia/service-kit';
import { pause, WakeUp } from '@angelia/waiting';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { HEARTBEAT_MS, RECONNECT_MS, STOPPING, STUCK_MS, startEventStream } from '../../http/event-stream.ts';
import { Refusal } from '../../http/refusal.ts';
import { type FeedEvent, feedEvent } from './feed-event.ts';
import { joined, SharedSlices } from './joined-events.ts';
import { StreamRoutes } from './stream-routes.ts';
import { TailWindow } from './tail-window.ts';

/**
 * `GET /v1/events`: all events, live, in the order of the tail.
 *
 * One loop reads the tail for all readers of this process, woken by the ping after each commit, while there is a reader.
 * It keeps the newest events (TailWindow). A reader has a place in the tail and gets what is behind it, as fast as its
 * socket takes it. One that is behind the window (it resumes after an hour, or it is slow) reads the log by itself, a page
 * at a time, until it has caught up. So memory is bounded by the window and a page per reader, and nothing is skipped.
 */
const PAGE = 500;
/** As stored; some times more as text. */
const PAGE_BYTES = 2 * 1024 * 1024;
/** Of a reader behind the window. It keeps what its socket does not take yet, so this times MOST_READERS is the bound. */
const OWN_PAGE = 200;
const OWN_PAGE_BYTES = 256 * 1024;
/** Readers that read the log at the same time. The others wait for their turn. */
const MOST_CATCHING_UP = 2;
/** How many readers are served before the event loop may answer webhooks again. */
const SERVED_IN_A_ROW = 4;
/** Many commits become one read. */
const READ_GAP_MS = 50;
/** When no ping comes (NATS is away), or one comes before its event is visible. */
const POLL_MS = 500;
const CHECK_MS = 5_000;
/** Each costs a socket and a look at every event. */
export const MOST_READERS = 100;

export interface FeedFilter {
  readonly route: string | null;
  /** Types, or their beginnings up to a dot: `delivery.`. Empty: all. */
  readonly types: readonly string[];
}

interface Reader {
  readonly response: ServerResponse;
  readonly filter: FeedFilter;
  /** Everything up to here was sent, or is not wanted. */
  place: TailCursor;
  /** Since when its buffer is full; null: it can take more. */
  stuckSince: number | null;
  /** What it read from the log by itself and did not send yet. */
  unsent: readonly FeedEvent[];
  sentAt: number;
  pumping: boolean;
}

@Injectable()
export class EventFeed implements OnModuleInit {
  readonly #readers = new Set<Reader>();
  readonly #routes: StreamRoutes;
  /** Null: nobody reads. */
  #window: TailWindow<FeedEvent> | null = null;
  #reading: AbortController | null = null;
  #opening = 0;
  #closing = false;
  #catchingUp = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #slices = new SharedSlices<FeedEvent>();

  constructor(
    @Inject(EVENT_LOG)
    private readonly log: {
      readonly tail: Pick<Tail, 'readWithin' | 'end' | 'isPast'>;
      readonly streams: Pick<Streams, 'routeOf'>;
    },
    @Inject(BUS) private readonly bus: { subscribe(subject: string, listener: () => void): () => void },
    @Inject(DRAIN) private readonly drain: Drain,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
  ) {
    this.#routes = new StreamRoutes(log.streams);
  }

  /** How many read now, how much is kept for all of them, and how much for the slowest. */
  get size() {
    const readers = [...this.#readers];
    return {
      readers: readers.length,
      ...(this.#window?.size ?? { events: 0, characters: 0 }),
      unsentBytes: Math.max(0, ...readers.map(({ response }) => response.writableLength)),
    };
  }

  onModuleInit(): void {
    // Before the server waits for its requests to end, because these would not.
    this.adapter.httpAdapter.getInstance<FastifyInstance>().addHook('preClose', async () => {
      this.#closing = true;
      for (const reader of [...this.#readers]) this.#end(reader);
    });
  }

  /**
   * Answers with all events after `after`, or from now on.
   * @throws Refusal 400 for a place of another log, 503 if too many read or the service drains
   */
  async answer(reply: FastifyReply, filter: FeedFilter, after: TailCursor | null): Promise<void> {
    if (this.drain.draining || this.#readers.size + this.#opening >= MOST_READERS) {
      throw new Refusal(
        503,
        'too_many_readers',
        `this server cannot open another feed (at most ${MOST_READERS} at once): try again later`,
        RECONNECT_MS / 1000,
      );
    }
    this.#opening += 1;
    try {
      if (after !== null && !(await this.log.tail.isPast(after))) {
        throw new Refusal(
          400,
          'bad_last_event_id',
          'header `Last-Event-ID`: this id is not of this log: leave it out to start from now',
        );
      }
      const end = await this.log.tail.end();
      const response = startEventStream(reply);
      if (response === null) return;
      this.#join(
        {
          response,
          filter,
          place: after ?? end,
          stuckSince: null,
          unsent: [],
          sentAt: performance.now(),
          pumping: false,
        },
        end,
      );
    } finally {
      this.#opening -= 1;
    }
  }

  #join(reader: Reader, end: TailCursor): void {
    this.#readers.add(reader);
    reader.response.on('close', () => this.#forget(reader));
    reader.response.on('drain', () => {
      reader.stuckSince = null;
      void this.#pump(reader);
    });
    // A broken socket emits `close` right after.
    reader.response.on('error', () => {});
    this.#send(reader, `retry: ${RECONNECT_MS}\n${placeOf(reader)}`);
    if (this.#closing) {
      this.#end(reader);
      return;
    }
    this.#window ??= new TailWindow<FeedEvent>(end);
    if (this.#reading === null) {
      this.#reading = new AbortController();
      void this.#readTail(this.#window, this.#reading.signal);
    }
    void this.#pump(reader);
  }

  #forget(reader: Reader): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
    this.#reading?.abort();
    this.#reading = null;
    this.#window = null;
    this.#slices.forget();
  }

  /** Fills the window until the last reader is gone. */
  async #readTail(window: TailWindow<FeedEvent>, signal: AbortSignal): Promise<void> {
    const wake = new WakeUp();
    const unsubscribe = this.bus.subscribe(TAIL_PING_SUBJECT, () => wake.wake());
    let checkedAt = performance.now();
    while (!signal.aborted) {
      const startedAt = performance.now();
      let isBehind = false;
      try {
        const page = await this.log.tail.readWithin(window.end, PAGE, PAGE_BYTES);
        if (signal.aborted) break;
        isBehind = page.events.length > 0;
        window.add(page.events.map(feedEvent));
        // Also when nothing is new: a reader's own read may have failed.
        await this.#pumpAll();
      } catch (error) {
        // The log is away, and logs that itself. Readers stay connected and get what they missed when it is back.
        this.logger.debug({ err: error }, 'event feed: cannot read the log; will retry');
      }
      if (performance.now() - checkedAt >= CHECK_MS) {
        checkedAt = performance.now();
        this.#check();
      }
      // Under full load, half of the time is left to webhooks.
      await pause(Math.max(READ_GAP_MS, performance.now() - startedAt), signal);
      if (!isBehind) await wake.wait(POLL_MS, signal);
    }
    unsubscribe();
  }

  async #pumpAll(): Promise<void> {
    let served = 0;
    for (const reader of [...this.#readers]) {
      void this.#pump(reader);
      served += 1;
      if (served % SERVED_IN_A_ROW === 0) await nextTurn();
    }
  }

  /** Sends the reader what is behind its place, until it has everything or takes no more. */
  async #pump(reader: Reader): Promise<void> {
    if (reader.pumping) return;
    reader.pumping = true;
    try {
      while (this.#readers.has(reader) && reader.stuckSince === null) {
        const kept = reader.unsent.length > 0 ? null : this.#window?.after(reader.place);
        if (kept === undefined || kept?.length === 0) return;
        if (kept !== null) await this.#sendSlices(reader, kept, this.#slices);
        else reader.unsent = await this.#sendSlices(reader, await this.#ownEvents(reader), null);
      }
    } catch (error) {
      this.logger.debug({ err: error }, 'event feed: cannot read the log for a reader; will retry');
    } finally {
      reader.pumping = false;
    }
  }

  /** For a reader behind the window. */
  async #ownEvents(reader: Reader): Promise<readonly FeedEvent[]> {
    if (reader.unsent.length > 0) return reader.unsent;
    await this.#turnToRead();
    try {
      const page = await this.log.tail.readWithin(reader.place, OWN_PAGE, OWN_PAGE_BYTES);
      // Nothing is between its place and the window: it was pruned.
      if (page.events.length === 0) reader.place = this.#window?.start ?? reader.place;
      return page.events.map(feedEvent);
    } finally {
      // The turn goes straight to the one that has waited longest.
      const next = this.#waiting.shift();
      if (next === undefined) this.#catchingUp -= 1;
      else next();
    }
  }

  async #turnToRead(): Promise<void> {
    if (this.#catchingUp < MOST_CATCHING_UP) this.#catchingUp += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Returns what the socket did not take. `shared`: the events are those of the window. */
  async #sendSlices(
    reader: Reader,
    events: readonly FeedEvent[],
    shared: SharedSlices<FeedEvent> | null,
  ): Promise<readonly FeedEvent[]> {
    const wanted = await this.#wanted(events, reader.filter);
    let left = events;
    while (left.length > 0) {
      const { bytes, count, place } =
        shared !== null && wanted === null ? shared.of(left) : joined(left, wanted);
      reader.place = place;
      if (bytes.length > 0) this.#send(reader, bytes);
      left = left.slice(count);
      if (reader.stuckSince !== null || !this.#readers.has(reader)) return left;
    }
    return [];
  }

  /** Null: all of them. */
  async #wanted(
    events: readonly FeedEvent[],
    { route, types }: FeedFilter,
  ): Promise<ReadonlySet<FeedEvent> | null> {
    if (route === null && types.length === 0) return null;
    const isOfType = ({ type }: FeedEvent) =>
      types.length === 0 || types.some((one) => (one.endsWith('.') ? type.startsWith(one) : type === one));
    const ofType = events.filter(isOfType);
    if (route === null) return new Set(ofType);
    // All at once: their look-ups become one query.
    const routes = await Promise.all(ofType.map((event) => this.#routes.routeOf(event)));
    return new Set(ofType.filter((_, index) => routes[index] === route));
  }

  #check(): void {
    const now = performance.now();
    for (const reader of [...this.#readers]) {
      if (reader.stuckSince !== null && now - reader.stuckSince > STUCK_MS) reader.response.destroy();
      // With its place: after a broken connection, a reader of rare events does not read again what it does not want.
      else if (reader.stuckSince === null && now - reader.sentAt > HEARTBEAT_MS)
        this.#send(reader, placeOf(reader));
    }
  }

  #send(reader: Reader, text: string | Buffer): void {
    if (!this.#readers.has(reader)) return;
    reader.sentAt = performance.now();
    if (!reader.response.write(text)) reader.stuckSince ??= performance.now();
  }

  #end(reader: Reader): void {
    this.#send(reader, `: ${STOPPING}\n\n`);
    this.#forget(reader);
    reader.response.end();
  }
}

/** Without data, so that an EventSource reports no event and only remembers the id. */
function placeOf({ place }: Reader): string {
  return `id: ${cursorText(place)}\n\n`;
}

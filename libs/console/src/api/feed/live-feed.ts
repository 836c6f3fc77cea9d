import { currentSession, onSessionChange, sessionIsOver } from '../session.ts';
import { Batcher } from './batcher.ts';
import { type FeedBatch, parseFeedEvent } from './feed-event.ts';

/** `live`: events arrive. `connecting`: the first connection, or a lost one that is tried again. */
export type FeedState = 'off' | 'connecting' | 'live';

/** The browser gives up when an answer is not an event stream (503 while ingress starts). Then we try again, more and more slowly. */
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** A browser has six connections to a host, over all tabs. A tab that nobody looks at gives its own back. */
const HIDDEN_MS = 60_000;

/**
 * The one EventSource of this tab, shared by all views. The browser resumes a lost connection after the last event that it
 * saw. Where that cannot be (a new EventSource starts from now), the next batch has `gap: true`.
 */
class LiveFeed {
  #source: EventSource | null = null;
  #state: FeedState = 'off';
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | null = null;
  #hide: ReturnType<typeof setTimeout> | null = null;
  readonly #listeners = new Set<(batch: FeedBatch) => void>();
  readonly #stateListeners = new Set<() => void>();
  readonly #batcher = new Batcher((batch) => {
    for (const listener of [...this.#listeners]) listener(batch);
  });

  /** Called once, by main.tsx. */
  start(): void {
    onSessionChange(() => (currentSession() === null ? this.#close() : this.#open()));
    document.addEventListener('visibilitychange', () => this.#onVisibility());
    addEventListener('online', () => this.#open());
    if (currentSession() !== null) this.#open();
  }

  get state(): FeedState {
    return this.#state;
  }

  onState(listener: () => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  subscribe(listener: (batch: FeedBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #open(): void {
    if (this.#source !== null || currentSession() === null) return;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
    this.#setState('connecting');
    const source = new EventSource('/v1/events');
    this.#source = source;
    let opened = false;
    source.onopen = () => {
      this.#failures = 0;
      // A new EventSource starts from now, and views may have asked for what they show before that.
      if (!opened) this.#batcher.markGap();
      opened = true;
      this.#setState('live');
    };
    source.onmessage = ({ data }: MessageEvent<string>) => {
      const event = parseFeedEvent(data);
      if (event !== null) this.#batcher.add(event);
    };
    source.onerror = () => {
      this.#setState('connecting');
      if (source.readyState === EventSource.CLOSED) this.#openLater();
    };
  }

  #openLater(): void {
    this.#drop();
    this.#setState('connecting');
    const wait = RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)];
    this.#failures += 1;
    this.#retry = setTimeout(() => {
      // An EventSource does not say why it was refused. If it was for the session, a call says so.
      void fetch('/console/session')
        .then((response) => (response.status === 401 ? sessionIsOver() : this.#open()))
        .catch(() => this.#openLater());
    }, wait);
  }

  #close(): void {
    this.#drop();
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
    this.#setState('off');
  }

  #drop(): void {
    this.#source?.close();
    this.#source = null;
  }

  #onVisibility(): void {
    if (this.#hide !== null) clearTimeout(this.#hide);
    this.#hide = null;
    if (document.visibilityState === 'hidden') this.#hide = setTimeout(() => this.#close(), HIDDEN_MS);
    else this.#open();
  }

  #setState(state: FeedState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#stateListeners) listener();
  }
}

export const liveFeed = new LiveFeed();

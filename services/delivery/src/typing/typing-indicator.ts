import type { RunningConfig } from '@angelia/config';
import { type SessionId, sessionId, typingSubject } from '@angelia/contracts';
import type { DrainParticipant, Logger } from '@angelia/service-kit';
import type { Clock, Loaded, Sessions } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import { claimTimes, openSendWindow, readClocks } from '../attempt/send-window.ts';
import { resolveAddress } from '../plan/resolve-address.ts';
import type { DeliverySettings } from '../settings.ts';

/** Telegram shows it for 5 s, Discord for 10 s, Matrix for as long as we say. */
const EVERY_MS = 4_500;
/** A typing notice that comes late is of no use. */
const REQUEST_SECONDS = 3;
/** Notices count against the platform's limits: 100 sessions are 22 requests per second. Further ones go without. */
const MOST_SESSIONS = 100;

interface TypingOptions {
  readonly sessions: Pick<Sessions, 'load' | 'refresh'>;
  readonly config: RunningConfig<DeliverySettings>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: as above. */
  readonly everyMs?: number;
}

/**
 * Shows in a chat that an answer is being written, for as long as the run goes on. A runner tells by core NATS that a run of a
 * chat has started, so this costs nothing where there is no chat. It is best effort: it is not an event, and any error ends it
 * for this run.
 */
export class TypingIndicator implements DrainParticipant {
  readonly name = 'typing';
  readonly #options: TypingOptions;
  readonly #shown = new Set<string>();
  readonly #stop = new AbortController();

  constructor(options: TypingOptions) {
    this.#options = options;
  }

  /** Sessions in which it is shown now. */
  get size(): number {
    return this.#shown.size;
  }

  /** Ends with the run. Never throws. */
  async show(id: SessionId): Promise<void> {
    if (this.#shown.has(id) || this.#shown.size >= MOST_SESSIONS || this.#stop.signal.aborted) return;
    this.#shown.add(id);
    try {
      await this.#whileRunning(id);
    } catch (error) {
      this.#options.logger.debug({ err: error, session_id: id }, 'typing is not shown');
    } finally {
      this.#shown.delete(id);
    }
  }

  async drain(): Promise<void> {
    this.#stop.abort();
  }

  async #whileRunning(id: SessionId): Promise<void> {
    const { sessions, clock, config, everyMs = EVERY_MS } = this.#options;
    const { signal } = this.#stop;
    const startedAt = clock.monotonic();
    let loaded = await sessions.load(id);
    // A runner that was killed leaves its run open until another takes over.
    const mostMs = 1_000 * (config.current.agents[loaded.state.created?.agent ?? '']?.timeout_seconds ?? 0);
    while (loaded.state.run !== null && clock.monotonic() - startedAt < mostMs && !signal.aborted) {
      if (!(await this.#showOnce(loaded))) return;
      await pause(everyMs, signal);
      // Checked right before it is shown again: after the answer it would be wrong.
      loaded = await sessions.refresh(loaded);
    }
  }

  /** False: there is nothing to show it in. */
  async #showOnce({ state }: Loaded): Promise<boolean> {
    const { config, clock } = this.#options;
    const held = config.hold();
    try {
      const { targets, chats, addressVariables } = held.settings;
      const deliver = state.created?.deliver;
      if (deliver === undefined || !chats.has(deliver.target)) return false;
      const { configured, address } = resolveAddress(deliver, targets.find(deliver.target), addressVariables);
      const { target, settings } = configured;
      if (target.typing === undefined) return false;
      const window = openSendWindow(readClocks(clock), claimTimes(REQUEST_SECONDS), clock);
      try {
        await target.typing({ address, settings, window });
      } finally {
        window.close();
      }
      return true;
    } finally {
      held.release();
    }
  }
}

/** The part of core NATS that is needed here. */
export interface TypingSignals {
  subscribe(
    subject: string,
    listener: (subject: string, payload: string) => void,
    options?: { readonly queue?: string },
  ): () => void;
}

/** One replica shows it, whichever gets the message. */
export function listenForTyping(bus: TypingSignals, indicator: Pick<TypingIndicator, 'show'>): () => void {
  const prefix = typingSubject('');
  return bus.subscribe(
    typingSubject('*'),
    (subject) => void indicator.show(sessionId(subject.slice(prefix.length))),
    { queue: 'delivery' },
  );
}

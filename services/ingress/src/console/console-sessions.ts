import type { ConsoleAccess, ConsoleSession } from '@angelia/event-log';
import { EVENT_LOG, LOGGER, type Logger } from '@angelia/service-kit';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { keepNewest } from '../access/keep-newest.ts';

/** How long another replica may still take a session that was revoked. A busy console costs one small query in this time. */
export const RECHECK_MS = 2_000;
/** Browsers of operators. Some 200 bytes each. One beyond costs a query per call, in batches. */
const MOST_KNOWN = 1_000;
/** Sessions that are over stay over. A page that was left open asks again and again. */
const MOST_ENDED = 1_000;

/**
 * Which sessions of the console are open, by the digest of their secret. Postgres knows; this process remembers an answer for
 * RECHECK_MS, and asks again in this interval for the sessions that have a stream open. If Postgres is away, streams stay
 * open (nothing comes through them then) and calls are answered with 503.
 */
@Injectable()
export class ConsoleSessions implements OnModuleDestroy {
  readonly #known = new Map<string, { readonly session: ConsoleSession; readonly askedAt: number }>();
  readonly #ended = new Set<string>();
  readonly #listeners = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(
    @Inject(EVENT_LOG) private readonly log: { readonly consoleAccess: ConsoleAccess },
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onModuleDestroy(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Null: there is no such session, or it is over. @throws errors of the log */
  async find(digest: string): Promise<ConsoleSession | null> {
    if (this.#ended.has(digest)) return null;
    const known = this.#known.get(digest);
    if (known !== undefined && performance.now() - known.askedAt < RECHECK_MS) return known.session;
    return this.#ask(digest);
  }

  async revoke(digest: string): Promise<void> {
    await this.log.consoleAccess.revoke(digest);
    this.#end(digest);
  }

  /** Calls the listener once, when the session is over. Returns how to stop waiting. */
  onEnd(digest: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(digest) ?? new Set();
    this.#listeners.set(digest, listeners.add(listener));
    this.#timer ??= setInterval(() => void this.#askAgain(), RECHECK_MS).unref();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(digest) === listeners) this.#listeners.delete(digest);
      if (this.#listeners.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  async #ask(digest: string): Promise<ConsoleSession | null> {
    const askedAt = performance.now();
    const session = await this.log.consoleAccess.find(digest);
    // It may have been revoked here while the question was on its way.
    if (session === null || this.#ended.has(digest)) {
      this.#end(digest);
      return null;
    }
    keepNewest(this.#known, digest, MOST_KNOWN, () => this.#known.set(digest, { session, askedAt }));
    return session;
  }

  async #askAgain(): Promise<void> {
    // All at once: they become one query.
    const asked = await Promise.allSettled([...this.#listeners.keys()].map((digest) => this.#ask(digest)));
    const failed = asked.find((one) => one.status === 'rejected');
    if (failed !== undefined)
      this.logger.debug({ err: failed.reason }, 'console: cannot check who is signed in; will retry');
  }

  #end(digest: string): void {
    this.#known.delete(digest);
    keepNewest(this.#ended, digest, MOST_ENDED, () => this.#ended.add(digest));
    const listeners = this.#listeners.get(digest) ?? [];
    this.#listeners.delete(digest);
    for (const listener of listeners) listener();
  }
}

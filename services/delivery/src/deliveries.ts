import { type Hint, type SessionId, sessionId } from '@angelia/contracts';
import type { DrainParticipant, HintVerdict } from '@angelia/service-kit';
import { type DeliveryTools, deliverSession, type Turnstile } from './deliver-session.ts';
import { Places } from './places.ts';
import { CONNECTIONS_PER_ORIGIN } from './targets/http.ts';

/**
 * Sessions whose stream is held in memory while an output of theirs is sent. Each costs its stream and a socket; this
 * many streams of some 20 kB are 20 MB. It is 16 destinations that hang at once with all their places taken.
 */
const MAX_UNDER_WAY = 16 * CONNECTIONS_PER_ORIGIN;
/** Ids that wait for a place at their destination: 10,000 of them are about 1 MB. What does not fit waits for the sweep. */
const MAX_PARKED = 10_000;
/** A hint that finds everything taken comes back after this long: about what a slow platform needs for one answer. */
const FULL_RETRY_MS = 1_000;

export interface DeliveriesLimits {
  readonly underWay: number;
  readonly perDestination: number;
  readonly parked: number;
}

export const DELIVERIES_LIMITS: DeliveriesLimits = {
  underWay: MAX_UNDER_WAY,
  perDestination: CONNECTIONS_PER_ORIGIN,
  parked: MAX_PARKED,
};

interface UnderWay {
  /** The newest version that a hint spoke of meanwhile. */
  hinted: number;
}

/**
 * The deliveries of this process: per session one loop at most, across sessions in parallel, bounded in all and per
 * destination. A hint is answered when its claim is committed or nothing is to be done; the sending goes on after that.
 */
export class Deliveries implements DrainParticipant {
  readonly name = 'deliveries';
  readonly #tools: DeliveryTools;
  readonly #limits: DeliveriesLimits;
  readonly #places: Places;
  readonly #underWay = new Map<string, UnderWay>();
  #closed = false;
  #onIdle: (() => void) | null = null;

  constructor(tools: DeliveryTools, limits: DeliveriesLimits = DELIVERIES_LIMITS) {
    this.#tools = tools;
    this.#limits = limits;
    this.#places = new Places({ perDestination: limits.perDestination, maxParked: limits.parked });
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Looks at one session. Throws when its stream cannot be read or the claim not be written: hint again later. */
  async look(hint: Pick<Hint, 'stream_id' | 'version'>): Promise<HintVerdict> {
    const known = this.#underWay.get(hint.stream_id);
    if (known !== undefined) {
      // Timers and the sweep name no version: look again in any case.
      known.hinted = Math.max(known.hinted, hint.version === 0 ? Number.POSITIVE_INFINITY : hint.version);
      return 'done';
    }
    if (this.#closed || this.#underWay.size >= this.#limits.underWay) return { retryInMs: FULL_RETRY_MS };
    await this.#begin(sessionId(hint.stream_id), false);
    return 'done';
  }

  async drain(deadline: number, hurry: AbortSignal): Promise<void> {
    this.#closed = true;
    this.#places.forgetParked();
    if (this.#underWay.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, deadline - Date.now()));
      hurry.addEventListener('abort', () => resolve(), { once: true });
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Resolves when the first claim is committed or there is nothing to do; rejects with what happened before that. */
  #begin(id: SessionId, waited: boolean): Promise<void> {
    const mark: UnderWay = { hinted: 0 };
    this.#underWay.set(id, mark);
    return new Promise((resolve, reject) => {
      let answered = false;
      const onClaimed = () => {
        answered = true;
        resolve();
      };
      this.#deliver(id, mark, waited, onClaimed)
        .then(resolve, (error: unknown) => {
          reject(error);
          if (!answered) return;
          // The hint is gone. The claim's deadline is a timer in the views: it brings the session back.
          this.#tools.logger.error({ err: error, session_id: id }, 'a delivery stopped after its claim');
        })
        .finally(() => {
          this.#underWay.delete(id);
          if (this.#underWay.size === 0) this.#onIdle?.();
        });
    });
  }

  async #deliver(id: SessionId, mark: UnderWay, waited: boolean, onClaimed: () => void): Promise<void> {
    const turnstile: Turnstile = {
      enter: (destination) => this.#places.take(destination, waited),
      leave: (destination) => this.#leave(destination),
      onClaimed,
      closed: () => this.#closed,
    };
    for (;;) {
      mark.hinted = 0;
      const looked = await deliverSession(id, this.#tools, turnstile);
      if (looked.kind === 'full') {
        if (!this.#closed) this.#park(looked.destination, id);
        return;
      }
      // Hinted for something that we have not seen; what we have seen needs no second look.
      if (this.#closed || mark.hinted <= looked.version) return;
    }
  }

  #park(destination: string, id: SessionId): void {
    if (!this.#places.park(destination, id)) {
      this.#tools.logger.debug(
        { session_id: id, destination },
        'no room to wait for a place: left to the sweep',
      );
    }
  }

  #leave(destination: string): void {
    const next = this.#places.free(destination);
    if (next === null || this.#closed || this.#underWay.has(next)) return;
    this.#begin(sessionId(next), true).catch((error: unknown) => {
      // Not lost: it is still due in the views.
      this.#tools.logger.warn({ err: error, session_id: next }, 'a waiting delivery could not be begun');
    });
  }
}

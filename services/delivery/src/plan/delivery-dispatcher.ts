import { type Hint, type SessionId, sessionId } from '@angelia/contracts';
import type { DrainParticipant, HintVerdict } from '@angelia/service-kit';
import { type CircuitLimits, circuitLimits } from '../gate/circuits.ts';
import { Gate } from '../gate/send-gate.ts';
import { SharedTurns } from '../gate/shared-rates.ts';
import { CONNECTIONS_PER_ORIGIN } from '../targets/calls/http-call.ts';
import { type DeliveryTools, deliverSession, type Turnstile } from './deliver-session.ts';

/**
 * Sessions whose stream is held in memory while an output of theirs is sent. Each costs its stream and a socket; this
 * many streams of some 20 kB are 20 MB. It is 8 destinations that hang at once with all their places taken.
 */
const MAX_UNDER_WAY = 8 * CONNECTIONS_PER_ORIGIN;
/** Half: while one hook of a host hangs, the others of it are not held back. */
const PER_CIRCUIT = CONNECTIONS_PER_ORIGIN / 2;
/** Ids that wait for their turn at their destination: 10,000 of them are some MB. What does not fit waits for the sweep. */
const MAX_PARKED = 10_000;
/** A hint that finds everything taken comes back after this long: about what a slow platform needs for one answer. */
const FULL_RETRY_MS = 1_000;

export interface DeliveriesLimits {
  readonly underWay: number;
  readonly perDestination: number;
  readonly perCircuit: number;
  readonly parked: number;
  /** Default: by the retry schedule. */
  readonly circuit?: CircuitLimits;
}

export const DELIVERIES_LIMITS: DeliveriesLimits = {
  underWay: MAX_UNDER_WAY,
  perDestination: CONNECTIONS_PER_ORIGIN,
  perCircuit: PER_CIRCUIT,
  parked: MAX_PARKED,
};

interface UnderWay {
  /** The newest version that a hint spoke of meanwhile. */
  hinted: number;
  /** Its turn has come while it was being looked at. */
  called: boolean;
}

/**
 * The deliveries of this process: per session one loop at most, across sessions in parallel, bounded in all and per
 * destination. A hint is answered when its claim is committed or nothing is to be done; the sending goes on after that.
 */
export class Deliveries implements DrainParticipant {
  readonly name = 'deliveries';
  readonly #tools: DeliveryTools;
  readonly #limits: DeliveriesLimits;
  readonly #gate: Gate;
  readonly #turns: SharedTurns;
  readonly #underWay = new Map<string, UnderWay>();
  #closed = false;
  #onIdle: (() => void) | null = null;

  constructor(tools: DeliveryTools, limits: DeliveriesLimits = DELIVERIES_LIMITS) {
    this.#tools = tools;
    this.#limits = limits;
    this.#gate = new Gate({
      perDestination: limits.perDestination,
      perCircuit: limits.perCircuit,
      maxParked: limits.parked,
      circuit: limits.circuit ?? circuitLimits(tools.policy.retry_schedule_seconds),
      now: () => tools.clock.monotonic(),
      call: (id) => this.#call(sessionId(id)),
      onCircuit: (destination, change) => this.#tellOf(destination, change),
    });
    this.#turns = new SharedTurns(tools.turns, this.#gate, tools.logger);
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Sessions that wait for their turn at a destination. */
  get waiting(): number {
    return this.#gate.parkedCount;
  }

  /** Destinations that this process finds down. */
  get circuitsOpen(): number {
    return this.#gate.openCircuits;
  }

  /** Looks at one session. Throws when its stream cannot be read or the claim not be written: hint again later. */
  async look(hint: Pick<Hint, 'stream_id' | 'version'>): Promise<HintVerdict> {
    const known = this.#underWay.get(hint.stream_id);
    if (known !== undefined) {
      // Timers and the sweep name no version: look again in any case.
      known.hinted = Math.max(known.hinted, hint.version === 0 ? Number.POSITIVE_INFINITY : hint.version);
      return 'done';
    }
    if (this.#gate.isParked(hint.stream_id)) {
      // It is looked at when it is called: then it is read, with whatever was appended meanwhile.
      this.#gate.nudge(hint.stream_id);
      return 'done';
    }
    if (this.#closed || this.#underWay.size >= this.#limits.underWay) return { retryInMs: FULL_RETRY_MS };
    await this.#begin(sessionId(hint.stream_id));
    return 'done';
  }

  async drain(deadline: number, hurry: AbortSignal): Promise<void> {
    this.#closed = true;
    this.#gate.close();
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
  #begin(id: SessionId): Promise<void> {
    const mark: UnderWay = { hinted: 0, called: false };
    this.#underWay.set(id, mark);
    return new Promise((resolve, reject) => {
      let answered = false;
      const onClaimed = () => {
        answered = true;
        resolve();
      };
      this.#deliver(id, mark, onClaimed)
        .then(resolve, (error: unknown) => {
          reject(error);
          if (!answered) return;
          // The hint is gone. The claim's deadline is a timer in the views: it brings the session back.
          this.#tools.logger.error({ err: error, session_id: id }, 'a delivery stopped after its claim');
        })
        .finally(() => {
          this.#underWay.delete(id);
          this.#gate.done(id);
          if (this.#underWay.size === 0) this.#onIdle?.();
        });
    });
  }

  async #deliver(id: SessionId, mark: UnderWay, onClaimed: () => void): Promise<void> {
    const gate = this.#gate;
    const turns = this.#turns;
    const turnstile: Turnstile = {
      enter: (ask) => gate.enter(id, ask),
      leave: (ticket, verdict) => gate.leave(ticket, verdict),
      isDown: (ask) => gate.isDown(ask),
      takeTurn: (ask, longestMs, entered) => turns.take(ask, longestMs, entered),
      sending: (ask) => gate.sending(ask),
      pause: (ask, scope, seconds) => turns.pause(ask, scope, seconds),
      onClaimed,
      closed: () => this.#closed,
    };
    for (;;) {
      mark.hinted = 0;
      mark.called = false;
      const looked = await deliverSession(id, this.#tools, turnstile);
      if (this.#closed) return;
      // What waits is looked at when it is called, which may be already.
      if (looked.kind === 'waits' && !mark.called) return;
      // Hinted for something that we have not seen; what we have seen needs no second look.
      if (looked.kind === 'done' && mark.hinted <= looked.version) return;
    }
  }

  /** Its turn has come. */
  #call(id: SessionId): void {
    const known = this.#underWay.get(id);
    if (known !== undefined) {
      known.called = true;
      return;
    }
    this.#begin(id).catch((error: unknown) => {
      // Not lost: it is still due in the views.
      this.#tools.logger.warn({ err: error, session_id: id }, 'a waiting delivery could not be begun');
    });
  }

  #tellOf(destination: string, change: 'opened' | 'closed'): void {
    if (change === 'opened') {
      this.#tools.logger.warn(
        { destination },
        'a target is down: it is asked now and then, what goes there waits',
      );
    } else this.#tools.logger.info({ destination }, 'a target is back');
  }
}

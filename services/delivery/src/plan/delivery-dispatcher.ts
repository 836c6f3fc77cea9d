import type { RunningConfig } from '@angelia/config';
import { type Hint, type SessionId, sessionId } from '@angelia/contracts';
import type { SendRates } from '@angelia/event-log';
import type { DrainParticipant, HintVerdict } from '@angelia/service-kit';
import type { Loaded } from '@angelia/sessions';
import { type CircuitLimits, circuitLimits, WakeUp } from '@angelia/waiting';
import type { DeliveryProcess } from '../delivery-context.ts';
import { SendGate } from '../gate/send-gate.ts';
import { gateFor, type SessionGate } from '../gate/session-gate.ts';
import { SessionsAsRead } from '../gate/sessions-as-read.ts';
import { SharedRates } from '../gate/shared-rates.ts';
import type { DeliverySettings } from '../settings.ts';
import { CONNECTIONS_PER_ORIGIN } from '../targets/calls/http-call.ts';
import { deliverSession } from './deliver-session.ts';

/**
 * Sessions whose stream is in memory while one of their outputs is sent. Each costs its stream and a socket: 1,024 streams of
 * about 20 kB are 20 MB. It is enough for 8 destinations that hang at once with all their slots taken.
 */
const MAX_IN_FLIGHT = 8 * CONNECTIONS_PER_ORIGIN;
/** Half: while one hook of a host hangs, the other hooks of that host go on. */
const PER_CIRCUIT = CONNECTIONS_PER_ORIGIN / 2;
/** Ids of sessions that wait at the gate: 10,000 of them take a few MB. The sweep finds those that do not fit. */
const MAX_WAITING = 10_000;
/** A hint that finds everything in flight comes back after this long: about what a slow platform needs for one answer. */
const FULL_RETRY_MS = 1_000;

export interface DispatcherLimits {
  readonly inFlight: number;
  readonly perDestination: number;
  readonly perCircuit: number;
  readonly waiting: number;
  /** Default: derived from the retry schedule. */
  readonly circuit?: CircuitLimits;
}

export const DISPATCHER_LIMITS: DispatcherLimits = {
  inFlight: MAX_IN_FLIGHT,
  perDestination: CONNECTIONS_PER_ORIGIN,
  perCircuit: PER_CIRCUIT,
  waiting: MAX_WAITING,
};

/** A session that this process is delivering. */
interface InFlight {
  /** The newest version that a hint named meanwhile. */
  hinted: number;
  /** The gate woke it meanwhile. */
  woken: boolean;
}

/**
 * Runs the deliveries of this process: at most one loop per session, sessions in parallel, bounded in total and per
 * destination. A hint is answered when its claim is committed or there is nothing to do. Sending goes on after that.
 */
export class DeliveryDispatcher implements DrainParticipant {
  readonly name = 'deliveries';
  readonly #context: DeliveryProcess;
  readonly #config: RunningConfig<DeliverySettings>;
  readonly #limits: DispatcherLimits;
  readonly #gate: SendGate;
  readonly #rates: SharedRates;
  readonly #asRead: SessionsAsRead;
  readonly #inFlight = new Map<string, InFlight>();
  readonly #drained = new WakeUp();
  #draining = false;

  constructor(
    context: DeliveryProcess,
    /** One look at a session uses what was in force at its beginning. */
    config: RunningConfig<DeliverySettings>,
    turns: Pick<SendRates, 'take' | 'pause'>,
    limits: DispatcherLimits = DISPATCHER_LIMITS,
  ) {
    this.#context = context;
    this.#config = config;
    this.#limits = limits;
    this.#gate = new SendGate({
      perDestination: limits.perDestination,
      perCircuit: limits.perCircuit,
      maxWaiting: limits.waiting,
      circuit: limits.circuit ?? circuitLimits(config.current.delivery.retry_schedule_seconds),
      now: () => context.clock.monotonic(),
      wake: (id) => this.#wake(sessionId(id)),
      onCircuit: (destination, change) => this.#logCircuit(destination, change),
    });
    config.onTaken(({ delivery }) => {
      if (limits.circuit === undefined)
        this.#gate.setCircuitLimits(circuitLimits(delivery.retry_schedule_seconds));
    });
    this.#rates = new SharedRates(turns, this.#gate, context.logger);
    this.#asRead = new SessionsAsRead(() => context.clock.monotonic());
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Sessions that wait at the gate. */
  get waiting(): number {
    return this.#gate.waitingCount;
  }

  /** Destinations that this process finds down. */
  get circuitsOpen(): number {
    return this.#gate.openCircuits;
  }

  /** Delivers what is due in one session. Throws if its stream cannot be read or the claim cannot be written: hint again later. */
  async handle(hint: Pick<Hint, 'stream_id' | 'version'>): Promise<HintVerdict> {
    const known = this.#inFlight.get(hint.stream_id);
    if (known !== undefined) {
      // Timers and the sweep name no version: look again in any case.
      known.hinted = Math.max(known.hinted, hint.version === 0 ? Number.POSITIVE_INFINITY : hint.version);
      return 'done';
    }
    if (this.#gate.isWaiting(hint.stream_id)) {
      // If there is something new, the session is read when the gate wakes it.
      this.#asRead.hinted(hint.stream_id, hint.version);
      this.#gate.recheck(hint.stream_id);
      return 'done';
    }
    if (this.#draining || this.#inFlight.size >= this.#limits.inFlight) return { retryInMs: FULL_RETRY_MS };
    await this.#start(sessionId(hint.stream_id));
    return 'done';
  }

  async drain(deadline: number, hurry: AbortSignal): Promise<void> {
    this.#draining = true;
    this.#gate.close();
    if (this.#inFlight.size === 0) return;
    await this.#drained.wait(Math.max(0, deadline - Date.now()), hurry);
  }

  /** Resolves when the first claim is committed or there is nothing to do. Rejects with an error that came before that. */
  #start(id: SessionId): Promise<void> {
    const session: InFlight = { hinted: 0, woken: false };
    this.#inFlight.set(id, session);
    return new Promise((resolve, reject) => {
      let claimed = false;
      const onClaimed = () => {
        claimed = true;
        resolve();
      };
      this.#deliver(id, session, onClaimed)
        .then(resolve, (error: unknown) => {
          reject(error);
          if (!claimed) return;
          // The hint is gone. The claim's deadline is a timer in the views and brings the session back.
          this.#context.logger.error({ err: error, session_id: id }, 'delivery stopped after its claim');
        })
        .finally(() => {
          this.#inFlight.delete(id);
          this.#gate.done(id);
          if (this.#draining && this.#inFlight.size === 0) this.#drained.wake();
        });
    });
  }

  async #deliver(id: SessionId, session: InFlight, onClaimed: () => void): Promise<void> {
    const gate = gateFor(id, this.#gate, this.#rates, { onClaimed, draining: () => this.#draining });
    for (;;) {
      session.hinted = 0;
      session.woken = false;
      const result = await this.#look(id, gate, this.#asRead.take(id));
      if (this.#draining) return;
      const { version } = result.loaded;
      if (result.kind === 'waiting' && session.hinted <= version) this.#asRead.keep(result.loaded);
      // The gate wakes a session that waits, and may have done so already.
      if (result.kind === 'waiting' && !session.woken) return;
      // Look again only if a hint named a version that we have not seen.
      if (result.kind === 'done' && session.hinted <= version) return;
    }
  }

  async #look(id: SessionId, gate: SessionGate, known: Loaded | null): ReturnType<typeof deliverSession> {
    const held = this.#config.hold();
    try {
      return await deliverSession(id, gate, { ...this.#context, ...held.settings }, known);
    } finally {
      held.release();
    }
  }

  #wake(id: SessionId): void {
    const known = this.#inFlight.get(id);
    if (known !== undefined) {
      known.woken = true;
      return;
    }
    this.#start(id).catch((error: unknown) => {
      // Not lost: it is still due in the views.
      this.#context.logger.warn(
        { err: error, session_id: id },
        'waiting delivery not started; will be hinted again',
      );
    });
  }

  #logCircuit(destination: string, change: 'opened' | 'closed'): void {
    if (change === 'opened') {
      this.#context.logger.warn(
        { destination },
        'target is down; its deliveries wait, and one at a time probes it',
      );
    } else this.#context.logger.info({ destination }, 'target is up again');
  }
}

import { type CircuitLimits, Circuits, LONGEST_TIMER_MS, type Verdict } from '@angelia/waiting';
import type { Destination, Target, WaitScope } from '../targets/target.ts';
import { Capacity, type CapacityLimits } from './capacity.ts';
import { LocalRates } from './local-rates.ts';
import { WaitingSessions } from './waiting-sessions.ts';

/**
 * Decides which session may send now. Three things can stop a send: an open circuit, a rate limit of the platform, or a lack of
 * free slots. A session that is stopped waits in the queue of that obstacle, so a platform that hangs, is down or asks us to
 * wait holds back only what goes there.
 *
 * Each queue wakes one session at a time, in the order of arrival; that of a chat begins with what was written first. It wakes the next one when the session before has entered,
 * or turned out to have nothing to send.
 */
export interface SendGateOptions extends CapacityLimits {
  readonly maxWaiting: number;
  readonly circuit: CircuitLimits;
  /** Milliseconds that never jump. */
  readonly now: () => number;
  /** The session may be able to enter now, and should try again. */
  readonly wake: (sessionId: string) => void;
  /** Names the destination, not the circuit: the name of a circuit can hold a secret (the path of a hook). */
  readonly onCircuit: (destination: string, change: 'opened' | 'closed') => void;
}

/** What a session wants to send to. */
export interface SendIntent {
  readonly destination: Destination;
  readonly limits: Target['limits'];
  /** When the output was recorded, by the database's clock. */
  readonly writtenAt: number;
  /** By `now`: from this time on the output is given up if the target is down, so a recheck wakes the session at once. */
  readonly givesUpAt?: number;
}

/** The right to send, from `enter` until `leave`. */
export interface Entry {
  readonly intent: SendIntent;
  /** This send tests whether an open circuit can be closed. */
  readonly probe: boolean;
}

interface Obstacle {
  /** Sessions with the same obstacle wait in the same queue. */
  readonly queue: string;
  /** When to try again. Infinity: when another session leaves. */
  readonly waitMs: number;
}

/**
 * The session that was told to wait longer does so: its retry is in the log. For the other sessions the wait is hearsay. They
 * ask again by then, which spends no attempt, so a platform that says "in a year" by mistake does not silence a chat.
 */
export const LONGEST_PAUSE_SECONDS = 900;

export class SendGate {
  readonly #options: SendGateOptions;
  readonly #rates = new LocalRates();
  readonly #circuits: Circuits;
  readonly #capacity: Capacity;
  readonly #waiting: WaitingSessions<SendIntent>;
  /** Sessions that were woken and have not tried to enter yet, with the queue that they left. */
  readonly #woken = new Map<string, string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #closed = false;

  constructor(options: SendGateOptions) {
    this.#options = options;
    this.#circuits = new Circuits(options.circuit);
    this.#capacity = new Capacity(options);
    this.#waiting = new WaitingSessions(options.maxWaiting, isOfChat);
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  setCircuitLimits(limits: CircuitLimits): void {
    this.#circuits.setLimits(limits);
  }

  /** How many destinations are found to be down. */
  get openCircuits(): number {
    return this.#circuits.openAt(this.#options.now());
  }

  isWaiting(sessionId: string): boolean {
    return this.#waiting.queueOf(sessionId) !== undefined;
  }

  /** Null: not now. The session waits here or, if the queues are full, is left to the sweep. */
  enter(sessionId: string, intent: SendIntent): Entry | null {
    const wokenFrom = this.#takeWakeUp(sessionId);
    const obstacle = this.#obstacle(intent, wokenFrom);
    if (obstacle !== null) {
      this.#wait(sessionId, intent, obstacle);
      if (wokenFrom !== null && wokenFrom !== obstacle.queue) this.#wakeNext(wokenFrom);
      return null;
    }
    this.#capacity.take(intent.destination);
    this.#spend(intent, this.#options.now());
    const probe = this.#circuits.pass(circuitOf(intent));
    if (wokenFrom !== null) this.#wakeNext(wokenFrom);
    return { intent, probe };
  }

  /** Frees the slot. */
  leave({ intent, probe }: Entry, verdict: Verdict): void {
    this.#capacity.release(intent.destination);
    const circuit = circuitOf(intent);
    const change = this.#circuits.settle(circuit, verdict, probe, this.#options.now());
    if (change !== 'same') this.#options.onCircuit(intent.destination.name, change);
    if (probe || change === 'closed') this.#wakeNext(circuitQueue(circuit));
    for (const { name } of this.#capacity.poolsOf(intent.destination)) this.#wakeNext(slotQueue(name));
  }

  /** The session has come to its end. If it was woken and did not enter, the next one is woken. */
  done(sessionId: string): void {
    const wokenFrom = this.#takeWakeUp(sessionId);
    if (wokenFrom !== null) this.#wakeNext(wokenFrom);
  }

  /** Checks whether a waiting session still has a reason to wait. */
  recheck(sessionId: string): void {
    const queue = this.#waiting.queueOf(sessionId);
    const intent = this.#waiting.intentOf(sessionId);
    if (queue === undefined || intent === undefined) return;
    const givesUp = intent.givesUpAt !== undefined && intent.givesUpAt <= this.#options.now();
    // A session that waits for anything else keeps its position in the queue.
    if (!givesUp || !this.isDown(intent)) {
      this.#wakeNext(queue);
      return;
    }
    this.#wake(sessionId, queue);
  }

  /** The circuit lets nobody through now. */
  isDown(intent: SendIntent): boolean {
    return this.#circuits.waitMs(circuitOf(intent), this.#options.now()) > 0;
  }

  /**
   * Takes a turn in the local rates for a further send of a session that has entered. Returns how long it must wait, or null
   * if that is longer than `maxMs`; then no turn is taken.
   */
  takeTurn(intent: SendIntent, maxMs: number): number | null {
    const now = this.#options.now();
    const waitMs = Math.max(this.#chatWait(intent, now), this.#overallWait(intent, now));
    if (waitMs > maxMs) return null;
    this.#spend(intent, now + waitMs);
    return waitMs;
  }

  /** Counts a further send whose turn was taken elsewhere (shared-rates.ts), this far ahead. */
  countTurn(intent: SendIntent, waitMs: number): void {
    this.#spend(intent, this.#options.now() + waitMs);
  }

  /** The turn was taken before the claim was committed, which may take a while. What counts is when the request goes out. */
  sending(intent: SendIntent): void {
    if (intent.limits?.perChat !== undefined) this.#rates.sending(chatOf(intent), this.#options.now());
  }

  /** The platform asked us to wait. */
  pause(intent: SendIntent, scope: WaitScope, seconds: number): void {
    const now = this.#options.now();
    const until = now + Math.min(seconds, LONGEST_PAUSE_SECONDS) * 1000;
    this.#rates.pause(scope === 'chat' ? chatOf(intent) : intent.destination.name, until, now);
  }

  /** The service is draining: from now on nobody waits here and nobody is woken. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#waiting.clear();
  }

  #takeWakeUp(sessionId: string): string | null {
    const queue = this.#woken.get(sessionId) ?? null;
    this.#woken.delete(sessionId);
    return queue;
  }

  /** Changes nothing: a session that is stopped by one obstacle has spent nothing of the others. */
  #obstacle(intent: SendIntent, wokenFrom: string | null): Obstacle | null {
    const now = this.#options.now();
    const { destination } = intent;
    const circuit = circuitOf(intent);
    const circuitWait = this.#circuits.waitMs(circuit, now);
    if (circuitWait > 0) return { queue: circuitQueue(circuit), waitMs: circuitWait };
    const chat = chatQueue(intent);
    const chatWait = this.#chatWait(intent, now);
    if (chatWait > 0) return { queue: chat, waitMs: chatWait };
    const overall = rateQueue(destination.name);
    const overallWait = this.#overallWait(intent, now);
    if (overallWait > 0) return { queue: overall, waitMs: overallWait };
    const full = this.#capacity.fullPool(destination);
    if (full !== undefined) return { queue: slotQueue(full.name), waitMs: Number.POSITIVE_INFINITY };
    if (wokenFrom !== null) return null;
    // A newcomer does not overtake sessions that will be woken soon, by a timer or by a session that leaves. If no timer
    // runs and nothing is in flight, the newcomer goes first and wakes them.
    const willBeWoken = (queue: string, pool: string) =>
      !this.#waiting.isEmpty(queue) && (this.#timers.has(queue) || this.#capacity.inFlight(pool) > 0);
    const ahead =
      [circuitQueue(circuit), chat, overall].find((queue) => willBeWoken(queue, destination.name)) ??
      this.#capacity
        .poolsOf(destination)
        .filter(({ name }) => willBeWoken(slotQueue(name), name))
        .map(({ name }) => slotQueue(name))[0];
    return ahead === undefined ? null : { queue: ahead, waitMs: Number.POSITIVE_INFINITY };
  }

  #chatWait(intent: SendIntent, now: number): number {
    return this.#rates.waitMs(chatOf(intent), intent.limits?.perChat, now);
  }

  #overallWait(intent: SendIntent, now: number): number {
    return this.#rates.waitMs(intent.destination.name, intent.limits?.overall, now);
  }

  #spend(intent: SendIntent, at: number): void {
    if (intent.limits === undefined) return;
    this.#rates.spend(chatOf(intent), intent.limits.perChat, at);
    this.#rates.spend(intent.destination.name, intent.limits.overall, at);
  }

  #wait(sessionId: string, intent: SendIntent, obstacle: Obstacle): void {
    if (this.#closed) return;
    if (this.#waiting.add(sessionId, intent, obstacle.queue)) this.#startTimer(obstacle);
  }

  #stopWaiting(sessionId: string, queue: string): void {
    this.#waiting.remove(sessionId);
    if (!this.#waiting.isEmpty(queue)) return;
    clearTimeout(this.#timers.get(queue));
    this.#timers.delete(queue);
  }

  #startTimer({ queue, waitMs }: Obstacle): void {
    if (this.#closed || this.#timers.has(queue) || !Number.isFinite(waitMs)) return;
    const timer = setTimeout(
      () => {
        this.#timers.delete(queue);
        this.#wakeNext(queue);
      },
      Math.min(LONGEST_TIMER_MS, Math.ceil(waitMs)),
    );
    timer.unref();
    this.#timers.set(queue, timer);
  }

  #wake(sessionId: string, queue: string): void {
    this.#stopWaiting(sessionId, queue);
    this.#woken.set(sessionId, queue);
    this.#options.wake(sessionId);
  }

  /** Wakes the first session of the queue if nothing stops it any more. A session with a new obstacle moves to its queue. */
  #wakeNext(queue: string): void {
    for (;;) {
      const first = this.#waiting.first(queue);
      if (first === undefined || this.#closed) return;
      const [sessionId, intent] = first;
      const obstacle = this.#obstacle(intent, queue);
      if (obstacle === null) {
        this.#wake(sessionId, queue);
        return;
      }
      if (obstacle.queue === queue) {
        this.#startTimer(obstacle);
        return;
      }
      this.#stopWaiting(sessionId, queue);
      this.#wait(sessionId, intent, obstacle);
    }
  }
}

function circuitOf({ destination }: SendIntent): string {
  return destination.circuit ?? destination.name;
}

/** If the platform does not count by chat, a wait that it asks for holds the circuit. */
export function chatOf({ destination }: SendIntent): string {
  const { name, chat, circuit } = destination;
  return chat === null ? (circuit ?? name) : `${name} ${chat}`;
}

const circuitQueue = (circuit: string) => `circuit ${circuit}`;
const CHAT = 'chat ';
const chatQueue = (intent: SendIntent) => `${CHAT}${chatOf(intent)}`;
const isOfChat = (queue: string) => queue.startsWith(CHAT);
const rateQueue = (destination: string) => `rate ${destination}`;
const slotQueue = (pool: string) => `slot ${pool}`;

import type { Target, TargetPlace, WaitScope } from '../targets/target.ts';
import { type CircuitLimits, Circuits, type Verdict } from './circuits.ts';
import { Rates } from './local-rates.ts';

/**
 * Who may send now. A destination has so many places, a circuit, and the platform's rates; who may not is parked at
 * what it waits for, so that a platform that hangs, is down or asks to wait holds back only what goes there. Parked
 * are ids, not work: what does not fit is left to the sweep, which finds it in the views.
 *
 * Who waits at the same thing is called in the order of coming, one after the other: the next when the one before has
 * entered, or turned out to have nothing to send.
 */
export interface GateOptions {
  readonly perDestination: number;
  /** Of what is up or down as one, where that is less than the destination: one hook that hangs leaves places to others of its host. */
  readonly perCircuit: number;
  readonly maxParked: number;
  readonly circuit: CircuitLimits;
  /** Milliseconds that never jump. */
  readonly now: () => number;
  /** Its time may have come: it should try to enter again. */
  readonly call: (sessionId: string) => void;
  /** Of a destination: the circuit's own name may have a secret in it (the path of a hook). */
  readonly onCircuit: (destination: string, change: 'opened' | 'closed') => void;
}

/** What somebody wants to send to. */
export interface Ask {
  readonly place: TargetPlace;
  readonly limits: Target['limits'];
  /** By `now`: from then on it is called whenever it is asked after, as it has somewhere else to go. */
  readonly patientUntil?: number;
}

export interface Ticket {
  readonly ask: Ask;
  readonly probe: boolean;
}

interface Obstacle {
  /** Who waits for the same has the same. */
  readonly at: string;
  /** When to try again; Infinity: when somebody leaves. */
  readonly waitMs: number;
}

/**
 * Who was told to wait longer does so (its retry is in the log); for the others the wait is hearsay: they ask again by
 * then, which spends no attempt, so that a platform that says "in a year" by mistake does not silence a chat for that long.
 */
export const LONGEST_PAUSE_SECONDS = 900;
/** setTimeout's own limit is 24 days; nobody waits so long without the sweep having come by. */
const LONGEST_TIMER_MS = 3_600_000;

export class Gate {
  readonly #options: GateOptions;
  readonly #rates = new Rates();
  readonly #circuits: Circuits;
  readonly #taken = new Map<string, number>();
  /** By what they wait at, in the order of coming. */
  readonly #queues = new Map<string, Map<string, Ask>>();
  readonly #parked = new Map<string, string>();
  readonly #called = new Map<string, string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #closed = false;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#circuits = new Circuits(options.circuit);
  }

  get parkedCount(): number {
    return this.#parked.size;
  }

  /** Destinations that are found down. */
  get openCircuits(): number {
    return this.#circuits.openAt(this.#options.now());
  }

  isParked(sessionId: string): boolean {
    return this.#parked.has(sessionId);
  }

  /** null: not now. It is parked, or, where there is no room for that, left to the sweep. */
  enter(sessionId: string, ask: Ask): Ticket | null {
    const calledAt = this.#answerCall(sessionId);
    const obstacle = this.#obstacle(ask, calledAt);
    if (obstacle !== null) {
      this.#park(sessionId, ask, obstacle);
      if (calledAt !== null && calledAt !== obstacle.at) this.#callNext(calledAt);
      return null;
    }
    const now = this.#options.now();
    for (const place of this.#places(ask)) this.#taken.set(place.name, this.#takenOf(place.name) + 1);
    this.#spend(ask, now);
    const probe = this.#circuits.pass(circuitOf(ask));
    if (calledAt !== null) this.#callNext(calledAt);
    return { ask, probe };
  }

  /** The place is free again. */
  leave(ticket: Ticket, verdict: Verdict): void {
    const places = this.#places(ticket.ask);
    for (const { name } of places) {
      const taken = this.#takenOf(name) - 1;
      if (taken > 0) this.#taken.set(name, taken);
      else this.#taken.delete(name);
    }
    const circuit = circuitOf(ticket.ask);
    const change = this.#circuits.settle(circuit, verdict, ticket.probe, this.#options.now());
    if (change !== 'same') this.#options.onCircuit(ticket.ask.place.destination, change);
    if (ticket.probe || change === 'closed') this.#callNext(atCircuit(circuit));
    for (const { name } of places) this.#callNext(atPlace(name));
  }

  /** A session that was called, or may have been, has come to its end: if it did not enter, the next is called. */
  done(sessionId: string): void {
    const calledAt = this.#answerCall(sessionId);
    if (calledAt !== null) this.#callNext(calledAt);
  }

  /** Somebody asks after one that is parked: is there still a reason? */
  nudge(sessionId: string): void {
    const at = this.#parked.get(sessionId);
    if (at === undefined) return;
    const ask = this.#queues.get(at)?.get(sessionId);
    const impatient = ask?.patientUntil !== undefined && ask.patientUntil <= this.#options.now();
    // Who waits for anything else keeps its place in the queue.
    if (!impatient || !this.isDown(ask)) {
      this.#callNext(at);
      return;
    }
    this.#unpark(sessionId, at);
    this.#called.set(sessionId, at);
    this.#options.call(sessionId);
  }

  /** Nobody is let through there now. */
  isDown(ask: Ask): boolean {
    return this.#circuits.waitMs(circuitOf(ask), this.#options.now()) > 0;
  }

  /**
   * A further send of somebody who is inside: takes its turn in the rates and says how long it must wait for that;
   * null when it is longer than `mostMs`, and no turn is taken.
   */
  takeTurn(ask: Ask, mostMs: number): number | null {
    const now = this.#options.now();
    const waitMs = Math.max(this.#chatWait(ask, now), this.#overallWait(ask, now));
    if (waitMs > mostMs) return null;
    this.#spend(ask, now + waitMs);
    return waitMs;
  }

  /** A further send of somebody who is inside has its turn, from elsewhere, so far ahead. */
  tookTurn(ask: Ask, waitMs: number): void {
    this.#spend(ask, this.#options.now() + waitMs);
  }

  /** Its turn was taken before its claim was committed, which may take a while: what counts is when it goes out. */
  sending(ask: Ask): void {
    if (ask.limits?.perChat !== undefined) this.#rates.sending(chatOf(ask), this.#options.now());
  }

  /** The platform asked for it. */
  pause(ask: Ask, scope: WaitScope, seconds: number): void {
    const now = this.#options.now();
    const until = now + Math.min(seconds, LONGEST_PAUSE_SECONDS) * 1000;
    this.#rates.pause(scope === 'chat' ? chatOf(ask) : ask.place.destination, until, now);
  }

  /** Nobody is let in or called after this: the service is draining. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#queues.clear();
    this.#parked.clear();
  }

  #answerCall(sessionId: string): string | null {
    const at = this.#called.get(sessionId) ?? null;
    this.#called.delete(sessionId);
    return at;
  }

  /** What stands in the way. Nothing is changed by asking, so that the one who is stopped by one has spent no other. */
  #obstacle(ask: Ask, calledAt: string | null): Obstacle | null {
    const now = this.#options.now();
    const { destination } = ask.place;
    const circuit = circuitOf(ask);
    const circuitWait = this.#circuits.waitMs(circuit, now);
    if (circuitWait > 0) return { at: atCircuit(circuit), waitMs: circuitWait };
    const chat = atChat(ask);
    const chatWait = this.#chatWait(ask, now);
    if (chatWait > 0) return { at: chat, waitMs: chatWait };
    const overall = atRate(destination);
    const overallWait = this.#overallWait(ask, now);
    if (overallWait > 0) return { at: overall, waitMs: overallWait };
    const places = this.#places(ask);
    const full = places.find(({ name, most }) => this.#takenOf(name) >= most);
    if (full !== undefined) return { at: atPlace(full.name), waitMs: Number.POSITIVE_INFINITY };
    if (calledAt !== null) return null;
    // Others do not overtake those that wait. They are called soon: by the timer, or by who leaves; if nobody is
    // inside and no timer runs, whoever comes goes first, and calls them.
    const waitsAt = (at: string, inside: string) =>
      this.#queues.has(at) && (this.#timers.has(at) || this.#takenOf(inside) > 0);
    const before =
      [atCircuit(circuit), chat, overall].find((at) => waitsAt(at, destination)) ??
      places.filter(({ name }) => waitsAt(atPlace(name), name)).map(({ name }) => atPlace(name))[0];
    return before === undefined ? null : { at: before, waitMs: Number.POSITIVE_INFINITY };
  }

  /** What it takes a place of: its own part of the destination first, so that who waits there is in nobody else's way. */
  #places({ place }: Ask): readonly { readonly name: string; readonly most: number }[] {
    const { perCircuit, perDestination } = this.#options;
    const whole = { name: place.destination, most: perDestination };
    return place.circuit === undefined ? [whole] : [{ name: place.circuit, most: perCircuit }, whole];
  }

  #takenOf(name: string): number {
    return this.#taken.get(name) ?? 0;
  }

  #chatWait(ask: Ask, now: number): number {
    return this.#rates.waitMs(chatOf(ask), ask.limits?.perChat, now);
  }

  #overallWait(ask: Ask, now: number): number {
    return this.#rates.waitMs(ask.place.destination, ask.limits?.overall, now);
  }

  #spend(ask: Ask, at: number): void {
    if (ask.limits === undefined) return;
    this.#rates.spend(chatOf(ask), ask.limits.perChat, at);
    this.#rates.spend(ask.place.destination, ask.limits.overall, at);
  }

  #park(sessionId: string, ask: Ask, obstacle: Obstacle): void {
    if (this.#closed) return;
    if (!this.#parked.has(sessionId)) {
      if (this.#parked.size >= this.#options.maxParked) return;
      this.#parked.set(sessionId, obstacle.at);
      const queue = this.#queues.get(obstacle.at);
      if (queue) queue.set(sessionId, ask);
      else this.#queues.set(obstacle.at, new Map([[sessionId, ask]]));
    }
    this.#arm(obstacle);
  }

  #unpark(sessionId: string, at: string): void {
    this.#parked.delete(sessionId);
    const queue = this.#queues.get(at);
    queue?.delete(sessionId);
    if (queue?.size === 0) {
      this.#queues.delete(at);
      clearTimeout(this.#timers.get(at));
      this.#timers.delete(at);
    }
  }

  #arm({ at, waitMs }: Obstacle): void {
    if (this.#closed || this.#timers.has(at) || !Number.isFinite(waitMs)) return;
    const timer = setTimeout(
      () => {
        this.#timers.delete(at);
        this.#callNext(at);
      },
      Math.min(LONGEST_TIMER_MS, Math.ceil(waitMs)),
    );
    timer.unref();
    this.#timers.set(at, timer);
  }

  /** Calls the first that waits there, if nothing stands in its way any more; who is stopped elsewhere now goes to wait there. */
  #callNext(at: string): void {
    for (;;) {
      const [first] = this.#queues.get(at) ?? [];
      if (first === undefined || this.#closed) return;
      const [sessionId, ask] = first;
      const obstacle = this.#obstacle(ask, at);
      if (obstacle?.at === at) {
        this.#arm(obstacle);
        return;
      }
      this.#unpark(sessionId, at);
      if (obstacle === null) {
        this.#called.set(sessionId, at);
        this.#options.call(sessionId);
        return;
      }
      this.#park(sessionId, ask, obstacle);
    }
  }
}

function circuitOf({ place }: Ask): string {
  return place.circuit ?? place.destination;
}

/** Where the platform counts by no chat, a wait that it asks for is about what is up or down as one. */
export function chatOf({ place }: Ask): string {
  return place.chat === null ? (place.circuit ?? place.destination) : `${place.destination} ${place.chat}`;
}

const atCircuit = (circuit: string) => `circuit ${circuit}`;
const atChat = (ask: Ask) => `chat ${chatOf(ask)}`;
const atRate = (destination: string) => `rate ${destination}`;
const atPlace = (destination: string) => `place ${destination}`;

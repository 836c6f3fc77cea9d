import { Refusal } from '../../http/refusal.ts';

export interface BodyLimits {
  /** For all connections together. */
  readonly totalBytes: number;
  readonly bytesPerNetwork: number;
  /** 0: no minimum. */
  readonly bytesPerSecond: number;
}

/** How often to look for slow bodies. What arrives in a whole interval counts, so a slow body is cut after one to two. */
export const CHECK_MS = 5_000;
/** A flood is over by then, or there is space again. Senders double their own delay after that anyway. */
const RETRY_AFTER_SECONDS = 5;

/** A body that is still arriving, from a sender that is not authenticated yet. */
export interface HeldBody {
  readonly network: string;
  /** How much of it has arrived. */
  received: number;
  /** Frees everything that is held for it, and answers the request. */
  readonly cut: (refusal: Refusal) => void;
}

interface Account {
  readonly network: Network;
  bytes: number;
  /** How much had arrived at the last check; null before the first. */
  receivedAtCheck: number | null;
}

interface Network {
  readonly name: string;
  bytes: number;
  readonly bodies: Set<HeldBody>;
}

/**
 * How much memory unauthenticated senders can hold (invariant strangers-cost-little). A signature can be checked only
 * when the whole body is there, so bodies are kept for anybody; this budget bounds all of them together.
 *
 * When the budget is full, the body that has been silent the longest is cut, not the newest one: senders that stall give
 * way to senders that finish. A webhook of a few kilobytes arrives at once and gets through any flood.
 */
export class BodyBudget {
  #limits: BodyLimits;
  /** The one that has been silent the longest is first, here and per network. */
  readonly #bodies = new Map<HeldBody, Account>();
  readonly #networks = new Map<string, Network>();
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    // One timer for all bodies: a webhook that arrives at once needs none.
    this.#timer = setInterval(() => this.cutSlow(), CHECK_MS).unref();
  }

  /** For every byte from now on. */
  setLimits(limits: BodyLimits): void {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts `bytes` more for this body. May cut other bodies, but never this one: one alone may have any size. */
  hold(body: HeldBody, bytes: number): void {
    const account = this.#bodies.get(body) ?? this.#open(body);
    const { network } = account;
    this.#bodies.delete(body);
    this.#bodies.set(body, account);
    network.bodies.delete(body);
    network.bodies.add(body);
    account.bytes += bytes;
    network.bytes += bytes;
    this.#bytes += bytes;
    while (network.bytes > this.#limits.bytesPerNetwork && network.bodies.size > 1) {
      this.#cutFirst(network.bodies, crowdedOut('limits.max_unauthenticated_bytes_per_address'));
    }
    while (this.#bytes > this.#limits.totalBytes && this.#bodies.size > 1) {
      this.#cutFirst(this.#bodies.keys(), crowdedOut('limits.max_unauthenticated_bytes'));
    }
  }

  /** The body is complete, or nobody waits for it any more. */
  release(body: HeldBody): void {
    const account = this.#bodies.get(body);
    if (account === undefined) return;
    const { network } = account;
    this.#bodies.delete(body);
    network.bodies.delete(body);
    network.bytes -= account.bytes;
    this.#bytes -= account.bytes;
    if (network.bodies.size === 0) this.#networks.delete(network.name);
  }

  /** Public for tests, so that they need not wait for the timer. */
  cutSlow(): void {
    const least = (this.#limits.bytesPerSecond * CHECK_MS) / 1000;
    for (const [body, account] of this.#bodies) {
      const { receivedAtCheck } = account;
      if (receivedAtCheck !== null && body.received - receivedAtCheck < least) {
        this.release(body);
        body.cut(tooSlow(this.#limits.bytesPerSecond));
      } else {
        account.receivedAtCheck = body.received;
      }
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #open(body: HeldBody): Account {
    let network = this.#networks.get(body.network);
    if (network === undefined) {
      network = { name: body.network, bytes: 0, bodies: new Set() };
      this.#networks.set(body.network, network);
    }
    return { network, bytes: 0, receivedAtCheck: null };
  }

  #cutFirst(bodies: Iterable<HeldBody>, refusal: Refusal): void {
    for (const body of bodies) {
      this.release(body);
      body.cut(refusal);
      return;
    }
  }
}

function crowdedOut(key: string): Refusal {
  return new Refusal(
    503,
    'crowded_out',
    `too many unfinished requests hold memory (\`${key}\`), and this one was silent the longest: send it again later`,
    RETRY_AFTER_SECONDS,
  );
}

function tooSlow(bytesPerSecond: number): Refusal {
  return new Refusal(
    408,
    'body_too_slow',
    `the body arrives too slowly: send at least ${bytesPerSecond} bytes a second (\`limits.min_body_bytes_per_second\`)`,
  );
}

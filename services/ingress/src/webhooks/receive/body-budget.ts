import { Refusal } from '../../http/refusal.ts';

export interface BodyLimits {
  /** Over all connections. */
  readonly totalBytes: number;
  readonly bytesPerPeer: number;
  /** 0: no minimum. */
  readonly bytesPerSecond: number;
}

/** How often slow bodies are looked for. A body is judged by what came in a whole interval, so that it is cut after one to two. */
export const CHECK_MS = 5_000;
/** A flood is over, or made room, by then; senders double their own delay after that anyway. */
const RETRY_AFTER_SECONDS = 5;

/** A body that is still arriving, of a sender who has proved nothing yet. */
export interface HeldBody {
  readonly peer: string;
  /** How much of it has arrived. */
  received: number;
  /** Lets go of everything that is held for it, and answers. */
  readonly cut: (refusal: Refusal) => void;
}

interface Account {
  readonly peer: Peer;
  bytes: number;
  /** What had arrived at the last check; null before the first. */
  receivedAtCheck: number | null;
}

interface Peer {
  readonly name: string;
  bytes: number;
  readonly bodies: Set<HeldBody>;
}

/**
 * What strangers can hold of our memory (strangers-cost-little). A webhook's signature can be checked only when its body
 * is there, so that bodies are kept for whoever sends them; all together within this budget.
 *
 * When it is full, the body that has been silent for the longest is cut, not the newest: who sends and is done is
 * never in the way of who sends and waits. A webhook of a few kilobytes, which arrives at once, is let in by any flood.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  /** The longest silent first, here and per peer. */
  readonly #bodies = new Map<HeldBody, Account>();
  readonly #peers = new Map<string, Peer>();
  readonly #timer: NodeJS.Timeout | null;
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    // One timer for all of them: a webhook that arrives at once meets none.
    this.#timer = limits.bytesPerSecond === 0 ? null : setInterval(() => this.cutSlow(), CHECK_MS).unref();
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `bytes` more are held for this body. May cut other bodies, never this one: one alone is let in at any size. */
  hold(body: HeldBody, bytes: number): void {
    const account = this.#bodies.get(body) ?? this.#open(body);
    const { peer } = account;
    this.#bodies.delete(body);
    this.#bodies.set(body, account);
    peer.bodies.delete(body);
    peer.bodies.add(body);
    account.bytes += bytes;
    peer.bytes += bytes;
    this.#bytes += bytes;
    while (peer.bytes > this.#limits.bytesPerPeer && peer.bodies.size > 1) {
      this.#cutFirst(peer.bodies, crowdedOut('limits.max_unauthenticated_bytes_per_address'));
    }
    while (this.#bytes > this.#limits.totalBytes && this.#bodies.size > 1) {
      this.#cutFirst(this.#bodies.keys(), crowdedOut('limits.max_unauthenticated_bytes'));
    }
  }

  /** It is whole, or nobody waits for it any more. */
  release(body: HeldBody): void {
    const account = this.#bodies.get(body);
    if (account === undefined) return;
    const { peer } = account;
    this.#bodies.delete(body);
    peer.bodies.delete(body);
    peer.bytes -= account.bytes;
    this.#bytes -= account.bytes;
    if (peer.bodies.size === 0) this.#peers.delete(peer.name);
  }

  /** Public for tests, which do not wait for the timer. */
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
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #open(body: HeldBody): Account {
    let peer = this.#peers.get(body.peer);
    if (peer === undefined) {
      peer = { name: body.peer, bytes: 0, bodies: new Set() };
      this.#peers.set(body.peer, peer);
    }
    return { peer, bytes: 0, receivedAtCheck: null };
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
    `too many unfinished requests hold memory (\`${key}\`), and this one was silent for the longest: send it again later`,
    RETRY_AFTER_SECONDS,
  );
}

function tooSlow(bytesPerSecond: number): Refusal {
  return new Refusal(
    408,
    'body_too_slow',
    `the body arrives too slowly: at least ${bytesPerSecond} bytes a second are wanted (\`limits.min_body_bytes_per_second\`)`,
  );
}

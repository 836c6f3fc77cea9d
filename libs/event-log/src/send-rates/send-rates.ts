import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';

/** What a platform counts messages by. Without a rate, only the pauses that the platform asked for count. */
export interface SendLimit {
  readonly name: string;
  /** At most `sends` in any period of `seconds`. */
  readonly rate?: { readonly sends: number; readonly seconds: number } | undefined;
}

export interface SendReservation {
  /** False: the turn is further ahead than the caller waits, and nothing is reserved. */
  readonly taken: boolean;
  readonly waitMs: number;
  /** Index of the one that causes the wait. */
  readonly heldBy: number;
}

const TAKE: Statement = {
  name: 'take_turn',
  text: 'SELECT wait, held_by, taken FROM angelia.take_turn($1::text[], $2::int[], $3::float8[], $4)',
};

const PAUSE: Statement = {
  name: 'pause_sends',
  text: `INSERT INTO angelia.send_turns AS t (name, paused_until)
         VALUES ($1, clock_timestamp() + make_interval(secs => $2::float8))
         ON CONFLICT (name) DO UPDATE SET paused_until = greatest(t.paused_until, EXCLUDED.paused_until)`,
};

/** Longer than any period or pause in use: an older row has no effect any more (invariant bounded). */
const FORGET_AFTER = '1 hour';
const FORGET: Statement = {
  name: 'forget_send_turns',
  text: `DELETE FROM angelia.send_turns t
         WHERE greatest(t.paused_until, t.sends[cardinality(t.sends)]) < clock_timestamp() - interval '${FORGET_AFTER}'`,
};

/** Keeps the rates of platforms over all processes. */
export class SendRates {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** The next turn to send at all of these, over all processes. It is reserved if it is at most `longestMs` ahead. */
  async take(at: readonly SendLimit[], longestMs: number): Promise<SendReservation> {
    const [row] = await this.#pool.query(TAKE, [
      at.map(({ name }) => name),
      at.map(({ rate }) => rate?.sends ?? null),
      at.map(({ rate }) => rate?.seconds ?? null),
      longestMs / 1000,
    ]);
    const [wait, heldBy, taken] = row as [number, number, boolean];
    return { taken, waitMs: wait * 1000, heldBy: heldBy - 1 };
  }

  /** Nobody gets a turn there for this long, because the platform asked for it. */
  async pause(name: string, seconds: number): Promise<void> {
    await this.#pool.query(PAUSE, [name, seconds]);
  }

  /** Removes rows that have no effect any more. */
  async forgetOld(): Promise<void> {
    await this.#pool.query(FORGET, []);
  }
}

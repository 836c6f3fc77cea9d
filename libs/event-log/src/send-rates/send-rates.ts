import type { Lane, Statement } from '../connection/database.ts';

/** What a platform counts messages by; without a rate only the pauses that it asked for count. */
export interface TurnAt {
  readonly name: string;
  /** So many in any stretch of so many seconds. */
  readonly rate?: { readonly sends: number; readonly seconds: number } | undefined;
}

export interface Turn {
  /** False: it would be further ahead than the caller waits, and nothing is reserved. */
  readonly taken: boolean;
  readonly waitMs: number;
  /** Index of the one that makes it wait. */
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

/** Longer than any stretch or pause in use: what is older says nothing (invariant bounded). */
const FORGET_AFTER = '1 hour';
const FORGET: Statement = {
  name: 'forget_send_turns',
  text: `DELETE FROM angelia.send_turns t
         WHERE greatest(t.paused_until, t.sends[cardinality(t.sends)]) < clock_timestamp() - interval '${FORGET_AFTER}'`,
};

/** The next turn by all processes together, at all of these at once. */
async function takeTurn(lane: Lane, at: readonly TurnAt[], longestMs: number): Promise<Turn> {
  const [row] = await lane.query(TAKE, [
    at.map(({ name }) => name),
    at.map(({ rate }) => rate?.sends ?? null),
    at.map(({ rate }) => rate?.seconds ?? null),
    longestMs / 1000,
  ]);
  const [wait, heldBy, taken] = row as [number, number, boolean];
  return { taken, waitMs: wait * 1000, heldBy: heldBy - 1 };
}

export async function forgetSendTurns(lane: Lane): Promise<void> {
  await lane.query(FORGET, []);
}

/** The rates of platforms, kept by all processes together. */
export class SendTurns {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** The next turn to send, by all processes together; reserved when it is at most `longestMs` ahead. */
  take(at: readonly TurnAt[], longestMs: number): Promise<Turn> {
    return takeTurn(this.#lane, at, longestMs);
  }

  /** Nobody gets a turn there for so long: the platform asked for it. */
  async pause(name: string, seconds: number): Promise<void> {
    await this.#lane.query(PAUSE, [name, seconds]);
  }
}

import type { SendTurns, TurnAt } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { WaitScope } from '../targets/target.ts';
import { type Ask, chatOf, type Gate, LONGEST_PAUSE_SECONDS } from './send-gate.ts';

/** `null`: not within the time that was given, or nobody can tell now. */
export type TurnWait = { readonly waitMs: number } | null;

/**
 * The platforms' rates, in sum over all replicas (docs/adr/0010): whoever is about to send to a platform that has one
 * takes its turn in Postgres. What that says is told to the gate, so that a replica asks about as often as it sends, and
 * not for everybody who waits. Platforms without a rate cost nothing here.
 */
export class SharedTurns {
  readonly #turns: Pick<SendTurns, 'take' | 'pause'>;
  readonly #gate: Gate;
  readonly #turnsger: Logger;

  constructor(turns: Pick<SendTurns, 'take' | 'pause'>, gate: Gate, logger: Logger) {
    this.#turns = turns;
    this.#gate = gate;
    this.#turnsger = logger;
  }

  /** How long to wait before the request is written. `entered`: the gate has counted this one already, at `enter`. */
  async take(ask: Ask, longestMs: number, entered: boolean): Promise<TurnWait> {
    if (ask.limits === undefined) {
      const waitMs = entered ? 0 : this.#gate.takeTurn(ask, longestMs);
      return waitMs === null ? null : { waitMs };
    }
    const at = placesOf(ask);
    try {
      const turn = await this.#turns.take(at, longestMs);
      if (turn.waitMs > 0) {
        const scope: WaitScope = at[turn.heldBy]?.name === chatOf(ask) ? 'chat' : 'target';
        this.#gate.pause(ask, scope, turn.waitMs / 1000);
      }
      if (!turn.taken) return null;
      if (!entered) this.#gate.tookTurn(ask, turn.waitMs);
      return { waitMs: turn.waitMs };
    } catch (error) {
      // Nothing was sent: the attempt is recorded as not made, and comes again.
      this.#turnsger.warn({ err: error, destination: ask.place.destination }, 'no turn could be taken');
      return null;
    }
  }

  /** The platform asked for it: the other replicas hold back too. */
  pause(ask: Ask, scope: WaitScope, seconds: number): void {
    this.#gate.pause(ask, scope, seconds);
    if (ask.limits === undefined) return;
    const name = scope === 'chat' ? chatOf(ask) : ask.place.destination;
    this.#turns.pause(name, Math.min(seconds, LONGEST_PAUSE_SECONDS)).catch((error: unknown) => {
      // They find out by themselves, as this one did.
      this.#turnsger.warn({ err: error, destination: ask.place.destination }, 'a pause could not be shared');
    });
  }
}

function placesOf(ask: Ask): readonly TurnAt[] {
  const chat = { name: chatOf(ask), rate: ask.limits?.perChat };
  const overall = { name: ask.place.destination, rate: ask.limits?.overall };
  return chat.name === overall.name ? [overall] : [chat, overall];
}

import type { SendLimit, SendRates } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { WaitScope } from '../targets/target.ts';
import { chatOf, LONGEST_PAUSE_SECONDS, type SendGate, type SendIntent } from './send-gate.ts';

/** Null: there is no turn within the time that was given, or Postgres cannot tell now. */
type Turn = { readonly waitMs: number } | null;

/**
 * The platforms' rates over all replicas together (docs/adr/0010). Before it sends to a platform that has a rate, a session
 * takes its turn in Postgres. The gate learns the result, so a replica asks Postgres about as often as it sends, not once for
 * every session that waits. Platforms without a rate cost nothing here.
 */
export class SharedRates {
  readonly #turns: Pick<SendRates, 'take' | 'pause'>;
  readonly #gate: SendGate;
  readonly #logger: Logger;

  constructor(turns: Pick<SendRates, 'take' | 'pause'>, gate: SendGate, logger: Logger) {
    this.#turns = turns;
    this.#gate = gate;
    this.#logger = logger;
  }

  /** How long to wait before the request is written. `entered`: the gate already counted this send, in `enter`. */
  async takeTurn(intent: SendIntent, maxMs: number, entered: boolean): Promise<Turn> {
    if (intent.limits === undefined) {
      const waitMs = entered ? 0 : this.#gate.takeTurn(intent, maxMs);
      return waitMs === null ? null : { waitMs };
    }
    const at = turnsAt(intent);
    try {
      const turn = await this.#turns.take(at, maxMs);
      if (turn.waitMs > 0) {
        const scope: WaitScope = at[turn.heldBy]?.name === chatOf(intent) ? 'chat' : 'target';
        this.#gate.pause(intent, scope, turn.waitMs / 1000);
      }
      if (!turn.taken) return null;
      if (!entered) this.#gate.countTurn(intent, turn.waitMs);
      return { waitMs: turn.waitMs };
    } catch (error) {
      // Nothing was sent. The attempt is recorded as not made and will be made again.
      this.#logger.warn(
        { err: error, destination: intent.destination.name },
        'send turn not taken; will retry',
      );
      return null;
    }
  }

  /** The platform asked us to wait: the other replicas hold back too. */
  async pause(intent: SendIntent, scope: WaitScope, seconds: number): Promise<void> {
    this.#gate.pause(intent, scope, seconds);
    if (intent.limits === undefined) return;
    const name = scope === 'chat' ? chatOf(intent) : intent.destination.name;
    try {
      await this.#turns.pause(name, Math.min(seconds, LONGEST_PAUSE_SECONDS));
    } catch (error) {
      // The other replicas find out by themselves, as this one did.
      this.#logger.warn(
        { err: error, destination: intent.destination.name },
        'pause not shared with other replicas',
      );
    }
  }
}

function turnsAt(intent: SendIntent): readonly SendLimit[] {
  const chat = { name: chatOf(intent), rate: intent.limits?.perChat };
  const overall = { name: intent.destination.name, rate: intent.limits?.overall };
  return chat.name === overall.name ? [overall] : [chat, overall];
}

import { type ChatUpdateOutcome, metrics } from '@angelia/service-kit';
import type { Chat } from '../chat.ts';
import type { ChatUpdate } from '../platform.ts';
import { STRANGER, type Taken } from './take-context.ts';

/**
 * Updates of one chat are taken one after the other, in the order in which they came in: a platform may open many connections
 * at once. Chats do not wait for each other. Between replicas the platform keeps the order: it sends the next update of a
 * chat when the one before was answered.
 */
export class InOrder {
  readonly #tails = new Map<string, Promise<unknown>>();

  take(chat: Chat, update: ChatUpdate, take: () => Promise<Taken>): Promise<Taken> {
    const startedAt = performance.now();
    const taken = this.#inTurn(chat, update, take);
    const count = (outcome: ChatUpdateOutcome) => {
      const platform = chat.platform.name;
      metrics.chatUpdates.add({ platform, outcome });
      metrics.chatUpdateSeconds.observe({ platform }, (performance.now() - startedAt) / 1000);
    };
    taken.then(
      ({ outcome, why }) => count(why === STRANGER ? 'stranger' : outcome),
      () => count('failed'),
    );
    return taken;
  }

  #inTurn({ name }: Chat, update: ChatUpdate, take: () => Promise<Taken>): Promise<Taken> {
    if (update.kind === 'other') return take();
    const key = JSON.stringify([name, update.place.chat]);
    const before = this.#tails.get(key);
    const taken = before === undefined ? take() : before.then(take, take);
    const settled = taken.then(
      () => {},
      () => {},
    );
    this.#tails.set(key, settled);
    void settled.then(() => {
      if (this.#tails.get(key) === settled) this.#tails.delete(key);
    });
    return taken;
  }
}

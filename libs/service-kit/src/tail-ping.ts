import type { Bus } from '@angelia/bus';
import { TAIL_PING_SUBJECT } from '@angelia/contracts';

/**
 * Rings the relay after a commit, wherever it runs. Many commits of one turn of the event loop are one ping: the
 * relay reads all there is. A lost ping costs one poll of the relay, nothing more.
 */
export function tailPinger(bus: Pick<Bus, 'ping'>): () => void {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      bus.ping(TAIL_PING_SUBJECT);
    });
  };
}

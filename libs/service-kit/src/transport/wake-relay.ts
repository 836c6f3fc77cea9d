import type { Bus } from '@angelia/bus';
import { TAIL_PING_SUBJECT } from '@angelia/contracts';

/** Between pings of one process: the relay reads all there is each time, and under load pauses about as long itself. */
const SPACING_MS = 3;

/**
 * Rings the relay after a commit, wherever it runs: at once when there was none for a while, else together with those
 * that follow. A lost ping costs one poll of the relay, nothing more.
 */
export function relayWaker(bus: Pick<Bus, 'ping'>): () => void {
  let scheduled = false;
  let lastAt = Number.NEGATIVE_INFINITY;
  const ring = () => {
    scheduled = false;
    lastAt = performance.now();
    bus.ping(TAIL_PING_SUBJECT);
  };
  return () => {
    if (scheduled) return;
    scheduled = true;
    if (performance.now() - lastAt >= SPACING_MS) setImmediate(ring);
    else setTimeout(ring, SPACING_MS);
  };
}

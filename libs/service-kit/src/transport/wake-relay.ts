import type { Bus } from '@angelia/bus';
import { TAIL_PING_SUBJECT } from '@angelia/contracts';

/** Between two pings of one process. The relay reads all there is each time, and under load pauses about as long itself. */
const SPACING_MS = 3;

/**
 * Makes a function that wakes the relay after a commit, wherever it runs: at once if there was no commit for a while,
 * otherwise once for several. A lost ping only delays the relay until its next poll.
 */
export function relayWaker(bus: Pick<Bus, 'ping'>): () => void {
  let scheduled = false;
  let lastAt = Number.NEGATIVE_INFINITY;
  const ping = () => {
    scheduled = false;
    lastAt = performance.now();
    bus.ping(TAIL_PING_SUBJECT);
  };
  return () => {
    if (scheduled) return;
    scheduled = true;
    if (performance.now() - lastAt >= SPACING_MS) setImmediate(ping);
    else setTimeout(ping, SPACING_MS);
  };
}

import { setTimeout as pause } from 'node:timers/promises';

/** Short enough not to be felt in a start that should take a second, long enough to cost nothing. */
const LOOK_EVERY_MS = 20;

/** Waits for a condition; false when it did not come true in time. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  patienceMs: number,
  lookEveryMs = LOOK_EVERY_MS,
): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() >= deadline) return false;
    await pause(lookEveryMs);
  }
}

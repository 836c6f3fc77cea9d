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

/** A start that takes longer than this says what it waits for; then again at this interval. */
const SAY_AFTER_MS = 3_000;
const SAY_EVERY_MS = 15_000;

/** Waits for a condition however long it takes, and says now and then what for. What the condition throws ends it. */
export async function untilSaying(
  condition: () => boolean | Promise<boolean>,
  say: () => void,
): Promise<void> {
  let patienceMs = SAY_AFTER_MS;
  while (!(await until(condition, patienceMs))) {
    say();
    patienceMs = SAY_EVERY_MS;
  }
}

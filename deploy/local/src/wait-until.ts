import { setTimeout as pause } from 'node:timers/promises';

/** Short enough to go unnoticed in a start of one second, long enough to cost nothing. */
const LOOK_MS = 20;

/** Waits for a condition; false if it did not become true in time. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  waitMs: number,
  lookMs = LOOK_MS,
): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() >= deadline) return false;
    await pause(lookMs);
  }
}

/** A start that takes longer than this reports what it waits for, and again at this interval. */
const FIRST_REPORT_MS = 3_000;
const NEXT_REPORT_MS = 15_000;

/** Waits for a condition without a limit, and reports now and then. An error of the condition ends the wait. */
export async function waitUntilSaying(
  condition: () => boolean | Promise<boolean>,
  say: () => void,
): Promise<void> {
  let waitMs = FIRST_REPORT_MS;
  while (!(await waitUntil(condition, waitMs))) {
    say();
    waitMs = NEXT_REPORT_MS;
  }
}

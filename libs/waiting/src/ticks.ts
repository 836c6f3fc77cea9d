/** A timer may come a little early. So soon before a tick, the one after it is meant. */
const EARLY_MS = 5;

/**
 * Time until the next tick of this period, by this process's clock. What waits for the same ticks wakes a process at rest
 * once and not once each, and on an idle machine a wake-up costs more than what is done in it.
 */
export function untilTick(periodMs: number): number {
  const left = periodMs - (performance.now() % periodMs);
  return left < Math.min(EARLY_MS, periodMs / 2) ? left + periodMs : left;
}

/** Calls back at each tick, with how late it is, until the returned function is called. Keeps no process alive. */
export function onTicks(periodMs: number, work: (lateMs: number) => void): () => void {
  let timer: NodeJS.Timeout;
  const next = () => {
    const waitMs = untilTick(periodMs);
    const due = performance.now() + waitMs;
    timer = setTimeout(() => {
      next();
      work(Math.max(0, performance.now() - due));
    }, waitMs).unref();
  };
  next();
  return () => clearTimeout(timer);
}

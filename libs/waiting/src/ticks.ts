/** A timer may fire a little early. If a tick is this close, the next one is meant. */
const EARLY_MS = 5;

/**
 * Time until the next tick of this period, by this process's clock. Timers that share ticks wake an idle process once instead
 * of once each. On an idle machine, a wake-up costs more than the work that is done in it.
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

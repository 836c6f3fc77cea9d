import { LONGEST_TIMER_MS } from './pause.ts';

/** What `within` resolves to when the time is up. */
export const LATE = Symbol('late');

/** The result of `work`, or LATE when it takes longer than `ms`. The work itself goes on, and a later rejection is ignored. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS), LATE);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

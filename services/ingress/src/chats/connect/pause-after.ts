import { isPermanent } from '@angelia/contracts';

/** A platform that is away is asked again soon at first. Telegram limits getUpdates of a bot that fails in a loop. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Only a person can help, and a changed config connects at once. Discord resets the token of a bot that tries 1,000 times a day. */
const REFUSED_PAUSE_MS = 3_600_000;

/**
 * How long to wait after a connection broke for the `failures`-th time in a row. If the platform says how long (429), not less:
 * whoever asks earlier is kept out for longer.
 */
export function pauseAfterMs(error: unknown, failures: number): number {
  if (isPermanent(error)) return REFUSED_PAUSE_MS;
  const growing = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
  const { retryAfterSeconds: seconds } = (error ?? {}) as { readonly retryAfterSeconds?: unknown };
  const asked = typeof seconds === 'number' ? seconds * 1000 : 0;
  return Math.max(growing, Math.min(asked, REFUSED_PAUSE_MS));
}

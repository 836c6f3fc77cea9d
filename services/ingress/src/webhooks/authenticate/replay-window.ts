/** The same in Standard Webhooks, Stripe, Slack and Hermes: enough for clock skew and a slow network, not for a replay. */
export const REPLAY_WINDOW_SECONDS = 300;

const UNIX_SECONDS = /^[0-9]{1,12}$/;

/** Whether a header says Unix seconds within the window, in either direction. */
export function isFresh(seconds: string | null, nowMs: number): seconds is string {
  if (seconds === null || !UNIX_SECONDS.test(seconds)) return false;
  return Math.abs(Math.floor(nowMs / 1000) - Number(seconds)) <= REPLAY_WINDOW_SECONDS;
}

const UNIX_MILLISECONDS = /^[0-9]{13}$/;
const ISO_8601 = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}(?:Z|[+-][0-9]{2}:?[0-9]{2})$/;

/** The same for senders of any kind: Unix seconds or milliseconds, or ISO 8601, within a window of the route's own. */
export function isFreshTime(text: string | null, nowMs: number, toleranceSeconds: number): text is string {
  if (text === null) return false;
  const ms = UNIX_MILLISECONDS.test(text)
    ? Number(text)
    : UNIX_SECONDS.test(text)
      ? Number(text) * 1000
      : ISO_8601.test(text)
        ? Date.parse(text)
        : Number.NaN;
  return Math.abs(Math.floor(nowMs / 1000) - Math.floor(ms / 1000)) <= toleranceSeconds;
}

/** Our clocks may be adjusted while a signature is remembered. */
const CLOCK_SLACK_SECONDS = 60;

/** How long a used signature must be remembered, if its time may be off by `windowSeconds` in either direction. */
export function staleAfter(windowSeconds: number): number {
  return 2 * windowSeconds + CLOCK_SLACK_SECONDS;
}

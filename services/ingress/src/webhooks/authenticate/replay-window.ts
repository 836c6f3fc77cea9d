/** Of Standard Webhooks, Stripe, Slack and Hermes alike: room for clock skew and a slow network, not for a replay. */
export const REPLAY_WINDOW_SECONDS = 300;

const UNIX_SECONDS = /^[0-9]{1,12}$/;

/** Whether a header says Unix seconds within the window, in either direction. */
export function isFresh(seconds: string | null, nowMs: number): seconds is string {
  if (seconds === null || !UNIX_SECONDS.test(seconds)) return false;
  return Math.abs(Math.floor(nowMs / 1000) - Number(seconds)) <= REPLAY_WINDOW_SECONDS;
}

/** Our clocks may be set while a signature is remembered. */
const CLOCK_SLACK_SECONDS = 60;

/** For how long a signature whose time may be this far off, in either direction, can be taken once it was taken. */
export function staleAfter(windowSeconds: number): number {
  return 2 * windowSeconds + CLOCK_SLACK_SECONDS;
}

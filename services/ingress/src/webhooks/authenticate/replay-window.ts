/** The same in Standard Webhooks, Stripe, Slack and Hermes: enough for clock skew and a slow network, not for a replay. */
export const REPLAY_WINDOW_SECONDS = 300;

const UNIX_SECONDS = /^[0-9]{1,12}$/;

/** Whether a header says Unix seconds within the window, in either direction. */
export function isFresh(seconds: string | null, nowMs: number): seconds is string {
  if (seconds === null || !UNIX_SECONDS.test(seconds)) return false;
  return Math.abs(Math.floor(nowMs / 1000) - Number(seconds)) <= REPLAY_WINDOW_SECONDS;
}

/** Our clocks may be adjusted while a signature is remembered. */
const CLOCK_SLACK_SECONDS = 60;

/** How long a used signature must be remembered, if its time may be off by `windowSeconds` in either direction. */
export function staleAfter(windowSeconds: number): number {
  return 2 * windowSeconds + CLOCK_SLACK_SECONDS;
}

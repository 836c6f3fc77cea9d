/** Of Standard Webhooks, Stripe, Slack and Hermes alike: room for clock skew and a slow network, not for a replay. */
export const REPLAY_WINDOW_SECONDS = 300;

const UNIX_SECONDS = /^[0-9]{1,12}$/;

/** Whether a header says Unix seconds within the window, in either direction. */
export function isFresh(seconds: string | null, nowMs: number): seconds is string {
  if (seconds === null || !UNIX_SECONDS.test(seconds)) return false;
  return Math.abs(Math.floor(nowMs / 1000) - Number(seconds)) <= REPLAY_WINDOW_SECONDS;
}

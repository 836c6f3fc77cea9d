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

/**
 * For the operator: why `isFresh` said no. null: it said yes.
 * @param name of the header, as people write it
 */
export function timestampProblem(name: string, seconds: string | null, nowMs: number): string | null {
  if (seconds === null) return `the header ${name} is missing`;
  if (!UNIX_SECONDS.test(seconds)) return `${name} is not a time in Unix seconds`;
  return offBy(name, Number(seconds) - Math.floor(nowMs / 1000), REPLAY_WINDOW_SECONDS);
}

/** null: within the window. */
export function offBy(name: string, seconds: number, windowSeconds: number): string | null {
  if (Math.abs(seconds) <= windowSeconds) return null;
  const direction = seconds < 0 ? 'old' : 'in the future';
  return `${name} is ${Math.abs(Math.round(seconds))} s ${direction}, and at most ${windowSeconds} s are allowed: check the clocks of both sides`;
}

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
  return text !== null && Math.abs(secondsOff(text, nowMs)) <= toleranceSeconds;
}

/** How far in the future; NaN if it is not a time. */
function secondsOff(text: string, nowMs: number): number {
  const ms = UNIX_MILLISECONDS.test(text)
    ? Number(text)
    : UNIX_SECONDS.test(text)
      ? Number(text) * 1000
      : ISO_8601.test(text)
        ? Date.parse(text)
        : Number.NaN;
  return Math.floor(ms / 1000) - Math.floor(nowMs / 1000);
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

/** For the operator: why `isFreshTime` said no. null: it said yes. */
export function timeProblem(
  name: string,
  text: string | null,
  nowMs: number,
  toleranceSeconds: number,
): string | null {
  if (text === null) return `the header ${name} is missing`;
  const seconds = secondsOff(text, nowMs);
  if (Number.isNaN(seconds)) return `${name} is neither a time in Unix seconds or milliseconds nor ISO 8601`;
  return offBy(name, seconds, toleranceSeconds);
}

import type { Clock } from '@angelia/sessions';
import type { SendWindow } from '../targets/target.ts';

/**
 * How long a claim lets its sender work. The claim (`delivery.attempted`) holds for `deadline_seconds` after it was
 * recorded; past that, another sender may resend. We measure from before the append was sent. So by our own clock we are
 * always early, and our clock and the database's need not agree.
 *
 *   claim requested   begin by              abort by           deadline
 *   |-----------------|---------------------|------------------|
 *      start margin       request timeout       record margin
 */
export interface ClaimTimes {
  readonly requestMs: number;
  /** A request that has not started this long after the claim was requested is not sent. */
  readonly beginWithinMs: number;
  readonly deadlineMs: number;
}

/**
 * The margin is half the request timeout, between these bounds. At least 1 s, so that short timeouts in tests still leave
 * time to record. At most 15 s, because after a crash the output waits for the whole deadline.
 */
const MIN_MARGIN_MS = 1_000;
const MAX_MARGIN_MS = 15_000;
/** Share of the margin in which a request may begin. The rest is for recording and for clock drift. */
const BEGIN_SHARE = 2 / 3;

export function claimTimes(requestTimeoutSeconds: number): ClaimTimes {
  const requestMs = requestTimeoutSeconds * 1000;
  const marginMs = Math.min(MAX_MARGIN_MS, Math.max(MIN_MARGIN_MS, requestMs / 2));
  return { requestMs, beginWithinMs: marginMs * BEGIN_SHARE, deadlineMs: requestMs + marginMs };
}

/** A moment by both clocks of this host. The clock that says that more time has passed is believed. */
export interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}

export function readClocks(clock: Clock): ClockReading {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

function elapsedMs(since: ClockReading, clock: Clock): number {
  return Math.max(clock.monotonic() - since.monotonic, clock.wall() - since.wall);
}

export function openSendWindow(claimRequestedAt: ClockReading, times: ClaimTimes, clock: Clock): SendWindow {
  const abort = new AbortController();
  const leftMs = times.beginWithinMs + times.requestMs - elapsedMs(claimRequestedAt, clock);
  const timer = setTimeout(
    () => abort.abort(new Error('the request ran out of time')),
    Math.max(0, Math.min(times.requestMs, leftMs)),
  );
  return {
    signal: abort.signal,
    mayBegin: () => !abort.signal.aborted && elapsedMs(claimRequestedAt, clock) < times.beginWithinMs,
    close: () => clearTimeout(timer),
  };
}

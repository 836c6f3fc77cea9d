import type { Clock } from '@angelia/sessions';

/**
 * How long a claim lets its sender work. The claim (`delivery.attempted`) stands for `deadline_seconds` after it was
 * recorded; past that another sender may resend. Time is measured from before the append was sent, so that we are
 * always early by our own reckoning and need no agreement between our clock and the database's.
 *
 *   claim asked    begin by              abort by           deadline
 *   |--------------|---------------------|------------------|
 *     start margin      request timeout     record margin
 */
export interface ClaimTimes {
  readonly requestMs: number;
  /** A request not begun this long after the claim was asked for is not begun at all. */
  readonly beginWithinMs: number;
  readonly deadlineMs: number;
}

/**
 * Half the request's time limit on top of it, between these bounds: at least 1 s, so that short limits in tests still
 * leave time to record; at most 15 s, because a crash leaves the output waiting for the whole deadline.
 */
const MIN_MARGIN_MS = 1_000;
const MAX_MARGIN_MS = 15_000;
/** Share of the margin in which a request may begin; the rest is for recording and for clocks that drift. */
const BEGIN_SHARE = 2 / 3;

export function claimTimes(requestTimeoutSeconds: number): ClaimTimes {
  const requestMs = requestTimeoutSeconds * 1000;
  const marginMs = Math.min(MAX_MARGIN_MS, Math.max(MIN_MARGIN_MS, requestMs / 2));
  return { requestMs, beginWithinMs: marginMs * BEGIN_SHARE, deadlineMs: requestMs + marginMs };
}

export interface SendWindow {
  /** Aborts when the request has had its time. */
  readonly signal: AbortSignal;
  /** Asked right before the request is written: false after a freeze, however the timers stand. */
  mayBegin(): boolean;
  /** Frees the timer. */
  close(): void;
}

/** A moment by both clocks: whichever says that more time has passed is believed. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.wall() };
}

export function elapsedMs(since: Moment, clock: Clock): number {
  return Math.max(clock.monotonic() - since.monotonic, clock.wall() - since.wall);
}

export function openSendWindow(claimAsked: Moment, times: ClaimTimes, clock: Clock): SendWindow {
  const abort = new AbortController();
  const timer = setTimeout(
    () => abort.abort(new Error('the request had its time')),
    Math.max(
      0,
      Math.min(times.requestMs, times.beginWithinMs + times.requestMs - elapsedMs(claimAsked, clock)),
    ),
  );
  return {
    signal: abort.signal,
    mayBegin: () => !abort.signal.aborted && elapsedMs(claimAsked, clock) < times.beginWithinMs,
    close: () => clearTimeout(timer),
  };
}

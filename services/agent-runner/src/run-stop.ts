import type { LeaseLoss } from './leases.ts';

/**
 * Why a run is stopped from outside; the reason of its abort signal. What follows:
 *
 *   lease_lost  another runner may be at it by now: append nothing that only the holder may
 *   drain       this runner goes down: `run.interrupted`, so that another one resumes it at once
 *   cancel      somebody said that the session, or this turn of it, was cancelled; only the event counts, so look
 *   timeout     the run took longer than the agent's `timeout_seconds`: it fails
 */
export type RunStop =
  | { readonly kind: 'lease_lost'; readonly loss: LeaseLoss }
  | { readonly kind: 'drain' }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'timeout' };

/** Aborts a run's work. A cancel that turns out to be none can be taken back; the other reasons stay. */
export class StopSwitch {
  #controller = new AbortController();
  #reason: RunStop | null = null;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The first reason counts, but for `cancel`, behind which each of the others is the harder one. */
  get reason(): RunStop | null {
    return this.#reason;
  }

  press(reason: RunStop): void {
    if (this.#reason !== null && this.#reason.kind !== 'cancel') return;
    this.#reason = reason;
    this.#controller.abort(reason);
  }

  /** There is no such event in the log: go on. */
  takeBackCancel(): void {
    if (this.#reason?.kind !== 'cancel') return;
    this.#reason = null;
    this.#controller = new AbortController();
  }
}

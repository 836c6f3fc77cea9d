import type { LeaseLoss } from './run-leases.ts';

/**
 * Why a run is stopped from outside. It is the reason of the run's abort signal. What follows:
 *
 *   lease_lost  another runner may have the session by now: append nothing that only the holder may
 *   drain       this runner shuts down: append `run.interrupted`, so that another one resumes the run at once
 *   over        the log says so (cancelled, interrupted by a newer turn, taken over): nothing is left to do
 *   timeout     the run took longer than the agent's `timeout_seconds`: it fails
 */
export type StopReason =
  | { readonly kind: 'lease_lost'; readonly loss: LeaseLoss }
  | { readonly kind: 'drain' }
  | { readonly kind: 'over' }
  | { readonly kind: 'timeout' };

/** Aborts the work of a run once. The first reason counts. */
export class StopSwitch {
  readonly #controller = new AbortController();
  #reason: StopReason | null = null;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get reason(): StopReason | null {
    return this.#reason;
  }

  press(reason: StopReason): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#controller.abort(reason);
  }
}

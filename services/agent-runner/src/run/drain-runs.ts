import type { DrainParticipant } from '@angelia/service-kit';
import { pause } from '@angelia/waiting';

/** The last part of the drain's time is for handing over the remaining runs: one append each, batched. */
const HANDOVER_SHARE = 0.2;
const HANDOVER_MAX_MS = 3_000;

interface Drainable {
  /** Starts no runs after this. */
  close(): void;
  /** Resolves when no run is left. */
  idle(): Promise<void>;
  /** Stops every run that is left. */
  interruptAll(): void;
}

/** Lets runs finish until shortly before the deadline, then interrupts those that are left and frees their leases. */
export function drainRuns(runner: Drainable): DrainParticipant {
  return {
    name: 'runs',
    async drain(deadline, hurry) {
      runner.close();
      const left = Math.max(0, deadline - Date.now());
      const handover = Math.min(left * HANDOVER_SHARE, HANDOVER_MAX_MS);
      const finished = new AbortController();
      const idle = runner.idle().then(() => finished.abort());
      await pause(left - handover, AbortSignal.any([hurry, finished.signal]));
      runner.interruptAll();
      await idle;
    },
  };
}

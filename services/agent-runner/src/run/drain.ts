import type { DrainParticipant } from '@angelia/service-kit';
import type { Runner } from '../runner.ts';

/** The last share of the drain's time is for handing over what is left: one append each, batched. */
const HANDOVER_SHARE = 0.2;
const HANDOVER_MAX_MS = 3_000;

/** Lets runs finish until shortly before the deadline, then interrupts exactly what is left and frees its leases. */
export function drainOf(runner: Pick<Runner, 'close' | 'idle' | 'interruptAll'>): DrainParticipant {
  return {
    name: 'runs',
    async drain(deadline, hurry) {
      runner.close();
      const left = Math.max(0, deadline - Date.now());
      const handover = Math.min(left * HANDOVER_SHARE, HANDOVER_MAX_MS);
      if (await within(runner.idle(), left - handover, hurry)) return;
      runner.interruptAll();
      await runner.idle();
    },
  };
}

async function within(done: Promise<void>, ms: number, hurry: AbortSignal): Promise<boolean> {
  const cut = new AbortController();
  const waited = new Promise<boolean>((resolve) => {
    const stop = () => resolve(false);
    const timer = setTimeout(stop, ms);
    if (hurry.aborted) stop();
    else hurry.addEventListener('abort', stop, { once: true, signal: cut.signal });
    cut.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  try {
    return await Promise.race([done.then(() => true), waited]);
  } finally {
    cut.abort();
  }
}

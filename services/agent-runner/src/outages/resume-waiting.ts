import type { SessionId } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import type { Recovery } from './model-circuits.ts';

interface ResumeDeps {
  /** Sessions that were put off for this model, the oldest first, after this one. */
  readonly waitingFor: (model: string, after: string, limit: number) => Promise<readonly string[]>;
  /** True: a run of it has started. */
  readonly resume: (id: SessionId) => Promise<boolean>;
  readonly hasFreeSlot: () => boolean;
  /** This runner starts no runs any more. */
  readonly closed: () => boolean;
}

/** As many at a time as one query of the queue reads. From then on the slots of the agents are the limit. */
const LARGEST_GROUP = 64;
/** A group is not waited for any longer than a model is tried: some of its runs may need no model. */
const GROUP_MS = 10_000;
/** A run that ends frees its slot. How long this takes says nothing, so look often. */
const SLOT_CHECK_MS = 100;

/**
 * The sessions that wait for a model that is back go on before their `retry_at`, in the order in which they came, so also in
 * order per route. No stampede: first one, and with each group that got its answers twice as many. It ends when all have
 * gone on, or when the model fails again: then the others wait for their `retry_at`. The caller ends the recovery.
 */
export async function resumeWaiting(recovery: Recovery, deps: ResumeDeps): Promise<void> {
  let after = '';
  const goesOn = () => recovery.active && !deps.closed();
  for (let size = 1; goesOn(); size = Math.min(2 * size, LARGEST_GROUP)) {
    const group = await deps.waitingFor(recovery.model, after, size);
    after = group.at(-1) ?? after;
    const before = recovery.answers;
    let started = 0;
    for (const id of group as SessionId[]) {
      while (goesOn() && !deps.hasFreeSlot()) await pause(SLOT_CHECK_MS);
      if (!goesOn()) return;
      recovery.letThrough.add(id);
      if (await deps.resume(id)) started += 1;
    }
    const until = performance.now() + GROUP_MS;
    while (goesOn() && recovery.answers - before < started && performance.now() < until) {
      await recovery.changed.wait(until - performance.now());
    }
    if (group.length < size) return;
  }
}

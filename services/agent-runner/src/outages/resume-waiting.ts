import type { SessionId } from '@angelia/contracts';
import type { Recovery } from './model-circuits.ts';

interface ResumeDeps {
  /** Sessions that were put off for this model, the oldest first, after this one. */
  readonly waitingFor: (model: string, after: string, limit: number) => Promise<readonly string[]>;
  /** Lets the session through. True: a run of it has started. */
  readonly resume: (id: SessionId) => Promise<boolean>;
  /** It was let through and has not started yet: it waits for a slot. */
  readonly isLetThrough: (id: SessionId) => boolean;
  /** This runner starts no runs any more. */
  readonly closed: () => boolean;
}

/** As many at a time as one query of the queue reads. */
const LARGEST_GROUP = 64;
/**
 * The next group does not wait any longer than a model is tried: some runs need no model, and some sessions wait for a slot of
 * an agent that is busy for long, or for a route that is full.
 */
const GROUP_MS = 10_000;

/**
 * The sessions that wait for a model that is back go on before their `retry_at`, in the order in which they came, so also in
 * order per route. No stampede: first one, and with each group that got its answers twice as many. It ends when all have
 * gone on, or when the model fails again: then the others wait for their `retry_at`. The caller ends the recovery.
 */
export async function resumeWaiting(recovery: Recovery, deps: ResumeDeps): Promise<void> {
  let after = '';
  const goesOn = () => recovery.active && !deps.closed();
  for (let size = 1; goesOn(); size = Math.min(2 * size, LARGEST_GROUP)) {
    const group = (await deps.waitingFor(recovery.model, after, size)) as readonly SessionId[];
    after = group.at(-1) ?? after;
    const before = recovery.answers;
    let started = 0;
    for (const id of group) {
      if (!goesOn()) return;
      if (await deps.resume(id)) started += 1;
    }
    const until = performance.now() + GROUP_MS;
    const isUnderWay = () => recovery.answers - before < started || group.some(deps.isLetThrough);
    while (goesOn() && isUnderWay() && performance.now() < until) {
      await recovery.changed.wait(until - performance.now());
    }
    if (group.length < size) return;
  }
}

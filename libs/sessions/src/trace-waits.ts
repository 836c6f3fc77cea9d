import type { EventData, SessionFact } from '@angelia/contracts';
import { endedWait, type SessionState, waitOf } from '@angelia/session';
import type { Loaded } from './sessions.ts';
import { recordSpan, SESSION_ID } from './tracing.ts';

/** A shorter wait for capacity or for a retry leaves no visible gap in a trace. */
const SHORTEST_SHOWN_MS = 1_000;

/**
 * Exports the waits that an append has ended, as spans from the event that began the wait to the one that ended it. Whoever
 * appends the end does it, so each wait is exported once, whatever was restarted meanwhile.
 *
 * @param at when the events were recorded
 * @param after the session after the append; not called if nothing can have ended
 */
export function traceWaits(
  before: Loaded,
  facts: readonly SessionFact[],
  at: number,
  after: () => SessionState,
): void {
  const wait = waitOf(before.state);
  const isShown = wait !== null && (wait.for !== 'queue' || at - wait.since >= SHORTEST_SHOWN_MS);
  if (isShown && endedWait(before.state, after()) !== null) {
    const name = wait.for === 'queue' ? 'wait in queue' : `wait for ${wait.for}`;
    record(before, { name, since: wait.since, at, endedBy: facts[0]?.type ?? '' });
  }
  for (const fact of facts) {
    if (fact.type !== 'delivery.attempted' || fact.data.attempt === 1) continue;
    const since = lastFailure(before, fact.data.output);
    if (since === null || at - since < SHORTEST_SHOWN_MS) continue;
    record(before, { name: 'wait for target', since, at, endedBy: fact.type });
  }
}

function record(
  { id, state }: Loaded,
  wait: { readonly name: string; readonly since: number; readonly at: number; readonly endedBy: string },
): void {
  const parent = state.created?.traceparent;
  if (parent == null) return;
  recordSpan({
    name: wait.name,
    parent,
    startMs: wait.since,
    endMs: wait.at,
    attributes: { [SESSION_ID]: id, 'angelia.ended_by': wait.endedBy },
  });
}

function lastFailure({ events }: Loaded, output: number): number | null {
  const failed = events.findLast(
    ({ type, data }) =>
      type === 'delivery.failed' && (data as EventData<'delivery.failed'>).output === output,
  );
  return failed?.recordedAt ?? null;
}

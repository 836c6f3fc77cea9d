import type { SessionFact } from '@angelia/contracts';
import { type Decision, decide, evolveAll, type SessionCommand, type SessionState } from '@angelia/session';

/** Several commands, each on the state that those before it leave, as one decision and so as one append. */
export function decideAll(state: SessionState, commands: readonly SessionCommand[]): Decision {
  const events: SessionFact[] = [];
  let now = state;
  for (const command of commands) {
    const decision = decide(now, command);
    if (!decision.ok) return decision;
    events.push(...decision.events);
    // They have no time yet; who holds what does not depend on it.
    now = evolveAll(
      now,
      decision.events.map((event, index) => ({
        ...event,
        version: now.version + 1 + index,
        recordedAt: state.lastActivityAt,
      })),
    );
  }
  return { ok: true, events };
}

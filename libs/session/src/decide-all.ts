import type { SessionFact } from '@angelia/contracts';
import { decide, type SessionCommand } from './decide.ts';
import type { Decision } from './decision.ts';
import { afterwards } from './ending/decide-ending.ts';
import type { SessionState } from './state.ts';

/** Several commands, each on the state that those before it leave, as one decision and so as one append. */
export function decideAll(state: SessionState, commands: readonly SessionCommand[]): Decision {
  const events: SessionFact[] = [];
  let now = state;
  for (const command of commands) {
    const decision = decide(now, command);
    if (!decision.ok) return decision;
    events.push(...decision.events);
    now = afterwards(now, decision.events);
  }
  return { ok: true, events };
}

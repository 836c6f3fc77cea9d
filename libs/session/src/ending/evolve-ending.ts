import type { EventData } from '@angelia/contracts';
import { isUntold, type StateDraft } from '../state.ts';

export function applySessionEnded(draft: StateDraft, data: EventData<'session.ended'>, at: number): void {
  draft.ended = { at, outcome: data.outcome, reason: data.reason, detail: data.detail ?? null };
  draft.run = null;
  draft.turns = [];
  draft.clarification = null;
  draft.approval = null;
  // Nothing starts after the end, so no notice is sent either.
  draft.processes = draft.processes.map((process) =>
    isUntold(process) ? { ...process, untold: null } : process,
  );
}

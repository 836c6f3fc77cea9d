import type { EventData } from '@angelia/contracts';
import { addOutput } from '../outputs/evolve-outputs.ts';
import type { StateDraft, StreamEvent } from '../state.ts';
import { changeCall } from '../steps/evolve-steps.ts';
import { ms } from '../time.ts';
import { recordProgress } from '../turns/evolve-turns.ts';

export function applyClarificationRequested(
  draft: StateDraft,
  data: EventData<'clarification.requested'>,
  event: StreamEvent,
): void {
  draft.clarification = {
    id: data.clarification_id,
    turn: data.turn,
    callId: data.call_id,
    output: event.version,
    askedAt: event.recordedAt,
    deadline: ms(data.deadline),
    onTimeout: data.on_timeout,
  };
  // The session waits without holding a runner.
  draft.run = null;
  changeCall(draft, data.turn, data.call_id, { status: 'waiting' });
  recordProgress(draft, data.turn, event.recordedAt);
  addOutput(draft, 'clarification', event, data.turn);
}

/** Answered, timed out or superseded. */
export function applyClarificationClosed(draft: StateDraft, id: string, at: number): void {
  const open = draft.clarification;
  if (open === null || open.id !== id) return;
  draft.clarification = null;
  changeCall(draft, open.turn, open.callId, { status: 'done' });
  recordProgress(draft, open.turn, at);
}

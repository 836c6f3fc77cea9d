import type { EventData } from '@angelia/contracts';
import { addOutput } from '../outputs/evolve-outputs.ts';
import type { OpenApproval, StateDraft, StreamEvent } from '../state.ts';
import { changeCall } from '../steps/evolve-steps.ts';
import { ms } from '../time.ts';
import { recordProgress } from '../turns/evolve-turns.ts';

export function applyApprovalRequested(
  draft: StateDraft,
  data: EventData<'approval.requested'>,
  event: StreamEvent,
): void {
  draft.approval = {
    id: data.approval_id,
    turn: data.turn,
    callId: data.call_id,
    tool: data.tool,
    digest: data.digest,
    rule: data.rule,
    approvers: data.approvers,
    output: event.version,
    askedAt: event.recordedAt,
    expiresAt: ms(data.expires_at),
  };
  draft.approvals = (draft.approvals ?? 0) + 1;
  // The session waits without holding a runner.
  draft.run = null;
  changeCall(draft, data.turn, data.call_id, { status: 'waiting' });
  recordProgress(draft, data.turn, event.recordedAt);
  addOutput(draft, 'approval', event, data.turn);
}

export function applyApprovalDecided(
  draft: StateDraft,
  data: EventData<'approval.decided'>,
  at: number,
): void {
  const open = close(draft, data.approval_id, at);
  if (open === null) return;
  const { id, digest, tool, rule } = open;
  if (data.decision === 'deny') {
    changeCall(draft, open.turn, open.callId, { status: 'done' });
    return;
  }
  changeCall(draft, open.turn, open.callId, { status: 'asked', approval: { id, digest } });
  if (data.scope === 'session') {
    draft.approvedRules = [...(draft.approvedRules ?? []), { approvalId: id, tool, rule }];
  }
}

export function applyApprovalExpired(
  draft: StateDraft,
  data: EventData<'approval.expired'>,
  at: number,
): void {
  const open = close(draft, data.approval_id, at);
  if (open !== null) changeCall(draft, open.turn, open.callId, { status: 'done' });
}

function close(draft: StateDraft, id: string, at: number): OpenApproval | null {
  const open = draft.approval ?? null;
  if (open === null || open.id !== id) return null;
  draft.approval = null;
  recordProgress(draft, open.turn, at);
  return open;
}

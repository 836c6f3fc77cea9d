import type { EventData } from '@angelia/contracts';
import { openApproval, type RefusalCode } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';

/** A request for approval, as it is in the log now. */
export interface Approval {
  readonly request: EventData<'approval.requested'>;
  readonly askedAt: string;
  readonly status: 'open' | ClosedReason;
  readonly decided: Decided | null;
}

export type ClosedReason = keyof typeof whyClosed;

export interface Decided {
  readonly by: string;
  readonly at: string;
  readonly decision: 'approve' | 'deny';
  readonly scope: 'once' | 'session';
  readonly reason: string | null;
}

/** Null: the session has never asked for it. */
export function approvalIn(
  loaded: Loaded,
  isIt: (request: Approval['request'], version: number) => boolean,
): Approval | null {
  const { events, state } = loaded;
  const asked = events.find(
    ({ type, data, version }) => type === 'approval.requested' && isIt(data as Approval['request'], version),
  );
  if (asked === undefined) return null;
  const request = asked.data as Approval['request'];
  const closing = events.find(
    ({ type, data }) =>
      (type === 'approval.decided' || type === 'approval.expired') &&
      (data as { approval_id: string }).approval_id === request.approval_id,
  );
  const askedAt = new Date(asked.recordedAt).toISOString();
  if (closing?.type === 'approval.decided') {
    const { actor, decision, scope, reason } = closing.data as EventData<'approval.decided'>;
    const at = new Date(closing.recordedAt).toISOString();
    return { request, askedAt, status: 'decided', decided: { by: actor, at, decision, scope, reason } };
  }
  const isOpen = openApproval(state)?.id === request.approval_id;
  const { reason = null } = (closing?.data ?? {}) as Partial<EventData<'approval.expired'>>;
  const closed = reason === 'superseded' ? 'superseded' : reason === 'time' ? 'expired' : 'ended';
  return { request, askedAt, status: isOpen ? 'open' : closed, decided: null };
}

const whyClosed = {
  decided: 'somebody decided',
  expired: 'the time to decide is over, so the call was not carried out',
  superseded: 'something newer replaced the work that asked for it',
  ended: 'the session that asked for it has ended',
} as const;

/** Why no decision is taken any more, for the person who wants to make one. */
export function sentenceFor(status: ClosedReason, decided: Decided | null): string {
  if (decided === null) return `This request is closed: ${whyClosed[status]}.`;
  const what = decided.decision === 'approve' ? 'approved' : 'denied';
  return `This request is closed: ${decided.by} ${what} it at ${decided.at}.`;
}

/** What a refusal by the domain means for whoever wants to decide. Null: the request is closed. */
export const refusals: Partial<Record<RefusalCode, { readonly code: string; readonly message: string }>> = {
  not_an_approver: {
    code: 'not_an_approver',
    message: 'You may not decide about this request: its `approvers` do not include you.',
  },
  arguments_changed: {
    code: 'arguments_changed',
    message: 'The arguments of this call are not those that you have seen. Look at it again.',
  },
};

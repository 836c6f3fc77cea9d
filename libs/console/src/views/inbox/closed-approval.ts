import type { FeedEvent } from '../../api/feed/feed-event.ts';

/** What became of a request that somebody looks at. */
export interface ClosedApproval {
  readonly id: string;
  /** Who was first, or why nobody can decide any more. */
  readonly what: string;
}

/** Null: the event closes no request. */
export function closedApproval({ type, data }: Pick<FeedEvent, 'type' | 'data'>): ClosedApproval | null {
  if (type !== 'approval.decided' && type !== 'approval.expired') return null;
  const { approval_id: id, actor, decision, reason, scope } = (data ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string') return null;
  if (type === 'approval.expired') {
    return {
      id,
      what:
        reason === 'superseded'
          ? 'Something newer replaced the work that asked for it. The call was not carried out.'
          : 'Nobody decided in time. The call was not carried out.',
    };
  }
  const who = typeof actor === 'string' ? actor : 'somebody';
  const done = decision === 'approve' ? 'approved' : 'denied';
  const rest = scope === 'session' ? ', and for the session' : '';
  const why = typeof reason === 'string' && reason !== '' ? `: ${reason}` : '.';
  return { id, what: `${who} ${done} it${rest}${why}` };
}

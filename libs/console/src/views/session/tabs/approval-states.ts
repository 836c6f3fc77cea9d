import type { Tone } from '../../../parts/feedback/badge.tsx';
import { EventData, type SessionEvent } from '../session-event.ts';

export interface ApprovalState {
  readonly tone: Tone;
  /** `denied by telegram:1: not at night` */
  readonly text: string;
}

/** What became of each tool call that needed an approval, by the id of the call. */
export function approvalStates(events: readonly SessionEvent[]): ReadonlyMap<string, ApprovalState> {
  const calls = new Map<string, string>();
  const states = new Map<string, ApprovalState>();
  for (const event of events) {
    if (!event.type.startsWith('approval.')) continue;
    const data = new EventData(event);
    const id = data.text('approval_id') ?? '';
    if (event.type === 'approval.requested') {
      const call = data.text('call_id') ?? '';
      calls.set(id, call);
      states.set(call, { tone: 'wait', text: 'waits for an approval' });
      continue;
    }
    const call = calls.get(id);
    const state = closedState(event.type, data);
    if (call !== undefined && state !== null) states.set(call, state);
  }
  return states;
}

function closedState(type: string, data: EventData): ApprovalState | null {
  if (type === 'approval.expired')
    return {
      tone: 'calm',
      text: data.text('reason') === 'superseded' ? 'superseded' : 'not approved in time',
    };
  if (type !== 'approval.decided') return null;
  const who = data.text('actor') ?? 'somebody';
  const reason = data.text('reason');
  const why = reason === null ? '' : `: ${reason}`;
  if (data.text('decision') !== 'approve') return { tone: 'bad', text: `denied by ${who}${why}` };
  const scope = data.text('scope') === 'session' ? ' for the session' : '';
  return { tone: 'ok', text: `approved${scope} by ${who}${why}` };
}

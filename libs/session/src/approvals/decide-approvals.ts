import type { EventData } from '@angelia/contracts';
import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { refuseUnlessOpen, requireOpenRun } from '../guards.ts';
import { openApproval, type SessionState } from '../state.ts';
import { iso } from '../time.ts';
import { permissionOf } from './permission.ts';

/**
 * An approval is a decision of a person about one tool call, before it starts.
 *
 *   (none) --requested--> open        the run closes and the session waits; the request is an output
 *   open --decided, approve--> (none) the call is as it was asked, and its next start carries the approval
 *   open --decided, deny--> (none)    the call is over; its result says so, with the reason
 *   open --expired, time--> (none)    the same: a request expires closed
 *   open --expired, superseded--> the turn is cancelled; a newer one replaces it (turns/decide-turns.ts)
 *
 * At most one person's answer is awaited at a time, here or for a clarification. Either way the turn is queued for its
 * next run. Whoever decides second is refused, because the decision is one event.
 */
export interface RequestApproval {
  readonly type: 'request-approval';
  readonly generation: number;
  readonly approvalId: string;
  readonly callId: string;
  readonly tool: string;
  /** As the model wrote them. */
  readonly arguments: string;
}

export interface DecideApproval {
  readonly type: 'decide-approval';
  readonly approvalId: string;
  readonly decision: EventData<'approval.decided'>['decision'];
  readonly scope: EventData<'approval.decided'>['scope'];
  readonly actor: string;
  readonly way: EventData<'approval.decided'>['way'];
  readonly reason: string | null;
  readonly person?: string;
  /** Of the arguments that the person has seen. Null: not known. */
  readonly digest: string | null;
  /** By the database's clock. */
  readonly now: number;
}

export function requestApproval(state: SessionState, command: RequestApproval): Decision {
  if (openApproval(state)?.id === command.approvalId) return alreadyDone;
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  const call = turn.calls.find((asked) => asked.id === command.callId);
  if (call === undefined) return refuse('unknown_call', `the model did not ask for call ${command.callId}`);
  if (call.status !== 'asked') return refuse('call_closed', `call ${call.id} was started or is over`);
  // Waiting closes the run, which would then miss the results of its other calls.
  const other = turn.calls.find((c) => c.status === 'started' && c.startedIn === run.generation);
  if (other !== undefined) return refuse('tools_open', `call ${other.id} has no result yet`);
  const permission = permissionOf(state, command);
  const { tools } = state.created ?? {};
  if (permission.kind !== 'ask' || tools === undefined) {
    return refuse('call_closed', `the policy does not ask about call ${call.id}`);
  }
  return accept(
    fact('approval.requested', {
      generation: run.generation,
      turn: turn.turn,
      approval_id: command.approvalId,
      call_id: call.id,
      tool: command.tool,
      arguments: command.arguments,
      digest: permission.digest,
      rule: { tool: permission.rule.tool, match: permission.rule.match ?? null },
      approvers: [...tools.approvers],
      // By the database's clock: the time at which it recorded the step before, a moment ago.
      expires_at: iso(state.lastActivityAt + tools.approval_expires_seconds * 1000),
    }),
  );
}

export function decideApproval(state: SessionState, command: DecideApproval): Decision {
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  const open = openApproval(state);
  if (open === null || open.id !== command.approvalId) {
    return refuse('approval_closed', 'this request was decided or has expired');
  }
  if (command.now >= open.expiresAt) return refuse('approval_expired', 'the time to decide is over');
  if (!mayDecide(open.approvers, command)) {
    return refuse('not_an_approver', `${command.actor} may not decide about this request`);
  }
  if (command.digest !== null && command.digest !== open.digest) {
    return refuse('arguments_changed', 'the arguments are not those that were shown');
  }
  const { approvalId: approval_id, decision, actor, way, reason } = command;
  // A denial is about this call: the model may ask for another one.
  const scope = decision === 'approve' ? command.scope : 'once';
  return accept(
    fact('approval.decided', {
      approval_id,
      decision,
      scope,
      ...(scope === 'once' ? {} : { allows: { tool: open.tool, match: open.rule.match } }),
      actor,
      way,
      reason,
      ...(command.person === undefined ? {} : { person: command.person }),
    }),
  );
}

/**
 * The admin token may always decide. A link and a chat show who has it or who writes there: without a list everybody
 * whom they let in, with one only those in it.
 */
export function mayDecide(
  approvers: readonly string[],
  { way, actor }: Pick<DecideApproval, 'way' | 'actor'>,
): boolean {
  if (way === 'api' || way === 'console') return true;
  return approvers.length === 0 || approvers.includes(way === 'link' ? 'link' : actor);
}

/** Nobody decided in time. The turn goes on, and the model reads that the call was not carried out. */
export function expireApproval(state: SessionState): Decision {
  const open = openApproval(state);
  return open === null
    ? refuse('approval_closed', 'no request is open')
    : accept(fact('approval.expired', { approval_id: open.id, reason: 'time' }));
}

import { deliveryPlan } from '../deliveries/delivery-plan.ts';
import { updateDue } from '../deliveries/update-plan.ts';
import { openApproval, type SessionState, waitingPutOff } from '../state.ts';
import { agentTools } from '../steps/agent-calls.ts';
import { processesAwaitedUntil } from './recover.ts';

/**
 * When each service should look at the session if nothing else happens. The queue view, the due timers and the sweep are
 * made of this. A time in the past means "now"; it is the time at which the work became due. Null: nothing to do.
 */
interface Agenda {
  /** agent-runner: a turn to start or resume, or a deadline to enforce. */
  readonly run: number | null;
  /** A run is open. It is never due: its runner works on it as long as the lease is alive. */
  readonly running: boolean;
  /** delivery: an output to send, retry or drop, one whose attempt has passed its deadline, or a closed question to edit. */
  readonly delivery: number | null;
  /** process-watcher: a call to carry out, or a process to end. Live processes are found by their own leases, not by time. */
  readonly process: number | null;
  /** Nothing will happen to this session any more, so it may be pruned. */
  readonly settled: boolean;
}

/** Process-watcher carries out the calls of these tools. */
export const WATCHER_TOOLS: readonly string[] = ['terminal', 'process', agentTools.command];

export function agenda(state: SessionState): Agenda {
  const delivery = deliveryDue(state);
  return {
    run: runDue(state),
    running: state.run !== null,
    delivery,
    process: processDue(state),
    settled:
      state.ended !== null && delivery === null && state.processes.every((p) => p.status !== 'running'),
  };
}

function runDue(state: SessionState): number | null {
  if (state.created === null || state.ended !== null || state.run !== null) return null;
  if (state.clarification !== null) return state.clarification.deadline;
  const approval = openApproval(state);
  if (approval !== null) return approval.expiresAt;
  const head = state.turns[0];
  if (head === undefined) return processesAwaitedUntil(state) ?? state.lastActivityAt;
  if (head.startedAt !== null) {
    return waitingPutOff(head)?.retryAt ?? head.interruptedAt ?? head.lastSignAt ?? state.lastActivityAt;
  }
  // It became the first in the queue when the turn before it was answered.
  const queuedSince = Math.max(head.requestedAt, state.answered?.at ?? 0);
  return Math.max(queuedSince, head.startAfter ?? 0);
}

/** An output, or the edit of a closed question. */
function deliveryDue(state: SessionState): number | null {
  const times = [outputDue(state), updateDue(state)].filter((time) => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}

function outputDue(state: SessionState): number | null {
  const plan = deliveryPlan(state, state.lastActivityAt);
  if (plan.action === 'nothing') return null;
  if (plan.action === 'wait') return plan.until;
  const output = state.outputs.find((o) => o.output === plan.output);
  return Math.min(output?.until ?? state.lastActivityAt, state.lastActivityAt);
}

function processDue(state: SessionState): number | null {
  const started = (state.turns[0]?.calls ?? [])
    .filter((call) => call.status === 'started' && WATCHER_TOOLS.includes(call.tool))
    .map((call) => call.startedAt ?? state.lastActivityAt);
  // The time of the request is not stored. The start of the process is early enough for the sweep.
  const toEnd = state.processes.filter((p) => p.status === 'running' && p.killRequested);
  const due = [...started, ...toEnd.map((process) => process.startedAt)];
  return due.length === 0 ? null : Math.min(...due);
}

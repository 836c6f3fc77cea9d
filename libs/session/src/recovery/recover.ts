import type { ExpiryReason } from '../ending/expiry.ts';
import { fold } from '../evolve.ts';
import {
  keepsOpen,
  type OpenTurn,
  openApproval,
  type SessionState,
  type StreamEvent,
  waitingPutOff,
} from '../state.ts';
import { seconds } from '../time.ts';

/**
 * What to do with a session when nobody seems to work on it (invariants resume-is-derived, no-phantom-turns). Called at
 * start, on a hint, by the sweep and by timers. It knows only the events, the lease and the time. There is no marker
 * that could outlive the work that it stands for (seed 002).
 *
 *   ended, or no such session                    nothing
 *   a question is open                           wait for its deadline, then expire (depending on `on_timeout` the expiry
 *                                                ends the turn, or it goes on with the next verdict)
 *   a request for approval is open               wait for its expiry, then expire it; the turn goes on
 *   every turn is answered                       wait for the watched processes, at most until their deadline
 *   the first turn never started                 resume, however long ago it was requested; but not before `start_after`,
 *                                                and after its queue deadline it expires
 *   it started, and a run is open
 *     with a live lease                          wait: slow is not dead
 *     without                                    the run is lost: take it over if the last sign of life is fresh and
 *                                                attempts are left, otherwise expire
 *   it started, and its last run was interrupted resume at once, up to the maximum length of an interruption
 *   it started, and its last run was put off     wait for `retry_at`, unless a model is back before; then resume, if the
 *                                                retry has not been due for longer than the freshness window: time spent
 *                                                waiting is not staleness. A resumed run only if the put-off one was
 *   it started, and its question was answered    go on: not a resumed run, nothing was lost
 *
 * A sign of life is an event from somebody who works on the turn, or a renewal of the lease by the runner of the open run.
 * A restart is not one. `run.started` and the lease are written in one append, so a run without a lease has lost it.
 */
export interface RunLease {
  readonly holder: string;
  readonly expiresAt: number;
  readonly renewedAt: number;
}

export interface RecoveryPolicy {
  /** A started turn whose last sign of life is older than this is not resumed. */
  readonly freshnessSeconds: number;
  /** Most runs without progress in between. Runs that were interrupted or put off do not count. */
  readonly maxAttempts: number;
  /** How long after a drain or an outage a turn is still resumed. */
  readonly maxInterruptionSeconds: number;
  /** A model of the agent has answered another session since this one was put off: it need not wait for `retry_at`. */
  readonly modelIsBack?: boolean;
}

export type Recovery =
  | {
      readonly action: 'resume';
      readonly turn: number;
      readonly resumed: boolean;
      readonly attempt: number;
      readonly takeover: boolean;
    }
  | { readonly action: 'wait'; readonly until: number | null; readonly reason: WaitReason }
  | { readonly action: 'expire'; readonly reason: ExpiryReason; readonly turn: number | null }
  | { readonly action: 'nothing'; readonly reason: 'unknown' | 'ended' };

type WaitReason = 'lease' | 'start_after' | 'clarification' | 'approval' | 'model' | 'process';

export function recover(
  source: SessionState | readonly StreamEvent[],
  lease: RunLease | null,
  now: number,
  policy: RecoveryPolicy,
): Recovery {
  const state = isEvents(source) ? fold(source) : source;
  if (state.created === null) return { action: 'nothing', reason: 'unknown' };
  if (state.ended !== null) return { action: 'nothing', reason: 'ended' };

  const clarification = state.clarification;
  if (clarification !== null) {
    return now < clarification.deadline
      ? { action: 'wait', until: clarification.deadline, reason: 'clarification' }
      : expire('clarification', clarification.turn);
  }

  const approval = openApproval(state);
  if (approval !== null) {
    return now < approval.expiresAt
      ? { action: 'wait', until: approval.expiresAt, reason: 'approval' }
      : expire('approval', approval.turn);
  }

  const head = state.turns[0];
  if (head === undefined) return waitForProcesses(state, now);
  if (head.startedAt === null) return neverStarted(head, now);

  if (state.run !== null) {
    if (lease !== null && now < lease.expiresAt) {
      return { action: 'wait', until: lease.expiresAt, reason: 'lease' };
    }
    const renewedAt = lease !== null && lease.holder === state.run.runner ? lease.renewedAt : null;
    if (!isRecent(latest(head.lastSignAt, renewedAt), policy.freshnessSeconds, now))
      return expire('stale', head.turn);
    return resume(head, policy, { resumed: true, takeover: true });
  }
  if (head.interruptedAt !== null) {
    if (!isRecent(head.interruptedAt, policy.maxInterruptionSeconds, now))
      return expire('interrupted', head.turn);
    return resume(head, policy, { resumed: true, takeover: false });
  }
  const putOff = waitingPutOff(head);
  if (putOff !== null) {
    if (now < putOff.retryAt && !policy.modelIsBack) {
      return { action: 'wait', until: putOff.retryAt, reason: 'model' };
    }
    if (!isRecent(putOff.retryAt, policy.freshnessSeconds, now)) return expire('stale', head.turn);
    return resume(head, policy, { resumed: putOff.resumed, takeover: false });
  }
  if (!isRecent(head.lastSignAt, policy.freshnessSeconds, now)) return expire('stale', head.turn);
  return resume(head, policy, { resumed: false, takeover: false });
}

function neverStarted(head: OpenTurn, now: number): Recovery {
  if (head.queueDeadline !== null && now >= head.queueDeadline) return expire('queue', head.turn);
  if (head.startAfter !== null && now < head.startAfter) {
    return { action: 'wait', until: head.startAfter, reason: 'start_after' };
  }
  return { action: 'resume', turn: head.turn, resumed: false, attempt: 1, takeover: false };
}

interface RunKind {
  readonly resumed: boolean;
  readonly takeover: boolean;
}

function resume(head: OpenTurn, policy: RecoveryPolicy, kind: RunKind): Recovery {
  if (head.attempts >= policy.maxAttempts) return expire('attempts', head.turn);
  return { action: 'resume', turn: head.turn, attempt: head.attempts + 1, ...kind };
}

function waitForProcesses(state: SessionState, now: number): Recovery {
  const until = processesAwaitedUntil(state);
  return until !== null && now < until
    ? { action: 'wait', until, reason: 'process' }
    : expire('process', null);
}

/** When the session stops waiting for the last of its watched processes. Null: there is none. */
export function processesAwaitedUntil(state: SessionState): number | null {
  const awaited = state.processes.filter(keepsOpen);
  return awaited.length === 0 ? null : Math.max(...awaited.map((process) => process.waitUntil));
}

function expire(reason: ExpiryReason, turn: number | null): Recovery {
  return { action: 'expire', reason, turn };
}

/** A missing or invalid time is never recent. */
function isRecent(time: number | null, limitSeconds: number, now: number): boolean {
  return time !== null && now - time <= seconds(limitSeconds);
}

function latest(a: number | null, b: number | null): number | null {
  if (a === null || !Number.isFinite(a)) return b;
  if (b === null || !Number.isFinite(b)) return a;
  return Math.max(a, b);
}

function isEvents(source: SessionState | readonly StreamEvent[]): source is readonly StreamEvent[] {
  return Array.isArray(source);
}

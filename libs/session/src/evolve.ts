import type { RecordedFact, SessionFact } from '@angelia/contracts';
import {
  applyApprovalDecided,
  applyApprovalExpired,
  applyApprovalRequested,
} from './approvals/evolve-approvals.ts';
import {
  applyClarificationClosed,
  applyClarificationRequested,
} from './clarifications/evolve-clarifications.ts';
import {
  applyChunkTaken,
  applyDeliveryAttempted,
  applyDeliveryDead,
  applyDeliveryDropped,
  applyDeliveryFailed,
  applyDeliverySucceeded,
  applyRetryRequested,
} from './deliveries/evolve-deliveries.ts';
import { applyDeliveryUpdated, applyUpdateFailed } from './deliveries/evolve-updates.ts';
import { applySessionEnded } from './ending/evolve-ending.ts';
import { applyFinalResponse, applyInterimStatus } from './outputs/evolve-outputs.ts';
import {
  applyCompletionConsumed,
  applyKillRequested,
  applyProcessExited,
  applyProcessLost,
  applyProcessMatched,
  applyProcessStarted,
} from './processes/evolve-processes.ts';
import {
  applyRunCancelled,
  applyRunFailed,
  applyRunInterrupted,
  applyRunPutOff,
  applyRunStarted,
} from './runs/evolve-runs.ts';
import { initialState, type SessionState, type StateDraft, type StreamEvent } from './state.ts';
import {
  applyContextCompressed,
  applyModelResponded,
  applyToolFinished,
  applyToolStarted,
} from './steps/evolve-steps.ts';
import { applySessionCreated, applyTurnRequested, applyWebhookCoalesced } from './turns/evolve-turns.ts';

/** Returns the state with one more event applied. Does not change the given state. */
export function evolve(state: SessionState, event: StreamEvent): SessionState {
  const draft: StateDraft = { ...state };
  apply(draft, event);
  return draft;
}

/** Returns the state with several more events applied, in order. Copies the state once for all of them. */
export function evolveAll(state: SessionState, events: readonly StreamEvent[]): SessionState {
  const draft: StateDraft = { ...state };
  for (const event of events) apply(draft, event);
  return draft;
}

export function fold(events: readonly StreamEvent[]): SessionState {
  return evolveAll(initialState(), events);
}

/**
 * The state as it will be once these facts are recorded. Callers look at who holds what and not at times, so the time of
 * the last event is good enough.
 */
export function stateAfter(state: SessionState, facts: readonly SessionFact[]): SessionState {
  return evolveAll(
    state,
    facts.map(
      (fact, i): StreamEvent => ({
        ...fact,
        version: state.version + 1 + i,
        recordedAt: state.lastActivityAt,
      }),
    ),
  );
}

/** A switch and not a map of handlers: every service folds streams all the time, and a case costs no allocation. */
function apply(draft: StateDraft, event: StreamEvent): void {
  const at = event.recordedAt;
  draft.version = event.version;
  draft.lastActivityAt = at;
  // No zod here, for speed: `decide` wrote the data and reading upcasts it, so the data of a known type is trusted.
  const fact = event as RecordedFact;
  switch (fact.type) {
    case 'session.created':
      applySessionCreated(draft, fact.data, at, event.meta?.traceparent ?? null);
      break;
    case 'turn.requested':
      applyTurnRequested(draft, fact.data, at);
      break;
    case 'webhook.coalesced':
      applyWebhookCoalesced(draft, fact.data);
      break;
    case 'webhook.placeholder-missing':
      break;
    case 'run.started':
      applyRunStarted(draft, fact.data, at);
      break;
    case 'run.failed':
      applyRunFailed(draft, fact.data);
      break;
    case 'run.cancelled':
      applyRunCancelled(draft, fact.data);
      break;
    case 'run.interrupted':
      applyRunInterrupted(draft, fact.data, at);
      break;
    case 'run.put-off':
      applyRunPutOff(draft, fact.data, at);
      break;
    case 'model.responded':
      applyModelResponded(draft, fact.data, at);
      break;
    case 'context.compressed':
      applyContextCompressed(draft, fact.data, at);
      break;
    case 'tool.started':
      applyToolStarted(draft, fact.data, at);
      break;
    case 'tool.finished':
      applyToolFinished(draft, fact.data, at);
      break;
    case 'session.interim-status':
      applyInterimStatus(draft, fact.data, event);
      break;
    case 'session.final-response':
      applyFinalResponse(draft, fact.data, event);
      break;
    case 'clarification.requested':
      applyClarificationRequested(draft, fact.data, event);
      break;
    case 'clarification.answered':
    case 'clarification.timed-out':
    case 'clarification.superseded':
      applyClarificationClosed(draft, fact.data.clarification_id, at);
      break;
    case 'approval.requested':
      applyApprovalRequested(draft, fact.data, event);
      break;
    case 'approval.decided':
      applyApprovalDecided(draft, fact.data, at);
      break;
    case 'approval.expired':
      applyApprovalExpired(draft, fact.data, at);
      break;
    case 'delivery.attempted':
      applyDeliveryAttempted(draft, fact.data, at);
      break;
    case 'delivery.chunk-taken':
      applyChunkTaken(draft, fact.data, at);
      break;
    case 'delivery.failed':
      applyDeliveryFailed(draft, fact.data);
      break;
    case 'delivery.succeeded':
      applyDeliverySucceeded(draft, fact.data, at);
      break;
    case 'delivery.dropped':
      applyDeliveryDropped(draft, fact.data);
      break;
    case 'delivery.dead':
      applyDeliveryDead(draft, fact.data, at);
      break;
    case 'delivery.retry-requested':
      applyRetryRequested(draft, fact.data, at);
      break;
    case 'delivery.updated':
      applyDeliveryUpdated(draft, fact.data);
      break;
    case 'delivery.update-failed':
      applyUpdateFailed(draft, fact.data);
      break;
    case 'process.started':
      applyProcessStarted(draft, fact.data, at);
      break;
    case 'process.matched':
      applyProcessMatched(draft, fact.data);
      break;
    case 'process.exited':
      applyProcessExited(draft, fact.data, at);
      break;
    case 'process.lost':
      applyProcessLost(draft, fact.data, at);
      break;
    case 'process.kill-requested':
      applyKillRequested(draft, fact.data);
      break;
    case 'process.completion-consumed':
      applyCompletionConsumed(draft, fact.data);
      break;
    case 'session.ended':
      applySessionEnded(draft, fact.data, at);
      break;
    default:
      // A type from a newer version: it moves the version and changes nothing else.
      fact satisfies never;
  }
}

import type { SessionFact } from '@angelia/contracts';
import {
  type DecideApproval,
  decideApproval,
  type RequestApproval,
  requestApproval,
} from './approvals/decide-approvals.ts';
import {
  type AnswerClarification,
  answerClarification,
  type RequestClarification,
  requestClarification,
  type TimeOutClarification,
  timeOutClarification,
} from './clarifications/decide-clarifications.ts';
import type { Decision } from './decision.ts';
import {
  type AttemptDelivery,
  attemptDelivery,
  type DropDelivery,
  dropDelivery,
  type FailDelivery,
  failDelivery,
  type GiveUpDelivery,
  giveUpDelivery,
  type RetryDelivery,
  retryDelivery,
  type SucceedDelivery,
  succeedDelivery,
  type TakeChunk,
  takeChunk,
} from './deliveries/decide-deliveries.ts';
import { type FailUpdate, type FinishUpdate, failUpdate, finishUpdate } from './deliveries/decide-updates.ts';
import { type Cancel, cancel } from './ending/decide-ending.ts';
import { type Expire, expire } from './ending/expiry.ts';
import { stateAfter } from './evolve.ts';
import { type FinishTurn, finishTurn, type SayInterim, sayInterim } from './outputs/decide-outputs.ts';
import {
  type ConsumeCompletion,
  consumeCompletion,
  processExited,
  processLost,
  processMatched,
  processStarted,
  type RecordProcessExited,
  type RecordProcessLost,
  type RecordProcessMatched,
  type RecordProcessStarted,
  type RequestKill,
  requestKill,
  withNotices,
} from './processes/decide-processes.ts';
import {
  type FailRun,
  failRun,
  type InterruptRun,
  interruptRun,
  type PutOffRun,
  putOffRun,
  type StartRun,
  startRun,
} from './runs/decide-runs.ts';
import type { SessionState } from './state.ts';
import { type StartAgent, startAgent } from './steps/agent-calls.ts';
import { type CompressContext, compressContext } from './steps/compression.ts';
import {
  type FinishTool,
  finishTool,
  type RecordModelResponse,
  recordModelResponse,
  type StartTool,
  startTool,
} from './steps/decide-steps.ts';
import {
  type CoalesceWebhook,
  type CreateSession,
  coalesceWebhook,
  createSession,
  type RequestTurn,
  requestTurn,
} from './turns/decide-turns.ts';

export type SessionCommand =
  | CreateSession
  | RequestTurn
  | CoalesceWebhook
  | StartRun
  | RecordModelResponse
  | CompressContext
  | StartTool
  | StartAgent
  | FinishTool
  | InterruptRun
  | PutOffRun
  | FailRun
  | SayInterim
  | FinishTurn
  | RequestClarification
  | AnswerClarification
  | TimeOutClarification
  | RequestApproval
  | DecideApproval
  | AttemptDelivery
  | TakeChunk
  | SucceedDelivery
  | FailDelivery
  | GiveUpDelivery
  | DropDelivery
  | RetryDelivery
  | FinishUpdate
  | FailUpdate
  | RecordProcessStarted
  | RecordProcessMatched
  | RecordProcessExited
  | RecordProcessLost
  | ConsumeCompletion
  | RequestKill
  | Cancel
  | Expire;

/**
 * What a command adds to the stream in this state. If somebody else appends first, ask again with the new state: the
 * answer may have become "already done" or a refusal.
 */
export function decide(state: SessionState, command: SessionCommand): Decision {
  return withNotices(state, decideOne(state, command));
}

/** Several commands as one decision, and so as one append. Each is decided on the state that those before it leave. */
export function decideAll(state: SessionState, commands: readonly SessionCommand[]): Decision {
  const events: SessionFact[] = [];
  let now = state;
  for (const command of commands) {
    const decision = decide(now, command);
    if (!decision.ok) return decision;
    events.push(...decision.events);
    now = stateAfter(now, decision.events);
  }
  return { ok: true, events };
}

/** The command alone, without the notices that may follow from it. */
function decideOne(state: SessionState, command: SessionCommand): Decision {
  switch (command.type) {
    case 'create-session':
      return createSession(state, command);
    case 'request-turn':
      return requestTurn(state, command);
    case 'coalesce-webhook':
      return coalesceWebhook(state, command);
    case 'start-run':
      return startRun(state, command);
    case 'record-model-response':
      return recordModelResponse(state, command);
    case 'compress-context':
      return compressContext(state, command);
    case 'start-tool':
      return startTool(state, command);
    case 'start-agent':
      return startAgent(state, command);
    case 'finish-tool':
      return finishTool(state, command);
    case 'interrupt-run':
      return interruptRun(state, command);
    case 'put-off-run':
      return putOffRun(state, command);
    case 'fail-run':
      return failRun(state, command);
    case 'interim-status':
      return sayInterim(state, command);
    case 'finish-turn':
      return finishTurn(state, command);
    case 'request-clarification':
      return requestClarification(state, command);
    case 'answer-clarification':
      return answerClarification(state, command);
    case 'time-out-clarification':
      return timeOutClarification(state, command);
    case 'request-approval':
      return requestApproval(state, command);
    case 'decide-approval':
      return decideApproval(state, command);
    case 'attempt-delivery':
      return attemptDelivery(state, command);
    case 'take-chunk':
      return takeChunk(state, command);
    case 'succeed-delivery':
      return succeedDelivery(state, command);
    case 'fail-delivery':
      return failDelivery(state, command);
    case 'give-up-delivery':
      return giveUpDelivery(state, command);
    case 'drop-delivery':
      return dropDelivery(state, command);
    case 'retry-delivery':
      return retryDelivery(state, command);
    case 'finish-update':
      return finishUpdate(state, command);
    case 'fail-update':
      return failUpdate(state, command);
    case 'process-started':
      return processStarted(state, command);
    case 'process-matched':
      return processMatched(state, command);
    case 'process-exited':
      return processExited(state, command);
    case 'process-lost':
      return processLost(state, command);
    case 'consume-completion':
      return consumeCompletion(state, command);
    case 'request-kill':
      return requestKill(state, command);
    case 'cancel':
      return cancel(state, command);
    case 'expire':
      return expire(state, command);
  }
}

export { type Agenda, agenda, WATCHER_TOOLS } from './agenda.ts';
export { agentCall, agentCallId, agentTools, isAgentTool, type StartAgent } from './agent-calls.ts';
export { conversation, fenceInstructions, programPrompt, type Said } from './agent-prompt.ts';
export type { AnswerClarification, RequestClarification, TimeOutClarification } from './clarifications.ts';
export type { CompressContext } from './compression.ts';
export { type Continuation, continuation } from './continuation.ts';
export { decide, type SessionCommand } from './decide.ts';
export { decideAll } from './decide-all.ts';
export type { Accepted, Decision, RefusalCode, Refused } from './decision.ts';
export type {
  AttemptDelivery,
  DropDelivery,
  FailDelivery,
  GiveUpDelivery,
  RetryDelivery,
  SucceedDelivery,
  TakeChunk,
} from './deliveries.ts';
export { type DeliveryPlan, deliveryPlan, type SendPlan } from './delivery-plan.ts';
export { type Cancel, endsRun } from './ending.ts';
export { evolve, evolveAll, fold, type StreamEvent } from './evolve.ts';
export { type Expire, type ExpiryReason, expiryCodes } from './expiry.ts';
export { type Measure, type Milestone, measure } from './measure.ts';
export { type FinishTurn, isSilent, type SayInterim } from './outputs.ts';
export type {
  ConsumeCompletion,
  RecordProcessExited,
  RecordProcessLost,
  RecordProcessMatched,
  RecordProcessStarted,
  RequestKill,
} from './processes.ts';
export {
  type DeliveryViewRow,
  type ProcessViewRow,
  projectSession,
  type SessionViewRow,
  type SessionViews,
} from './project-session.ts';
export { type Recovery, type RecoveryPolicy, type RunLease, recover, type WaitReason } from './recover.ts';
export type {
  FailRun,
  FinishTool,
  InterruptRun,
  RecordModelResponse,
  StartRun,
  StartTool,
} from './runs.ts';
export {
  type CreatedFacts,
  type EndedFacts,
  initialState,
  type NoticeKind,
  type OpenCall,
  type OpenClarification,
  type OpenOutput,
  type OpenRun,
  type OpenTurn,
  type OutputKind,
  type ProcessState,
  type SessionState,
  type SessionStatus,
  sessionStatus,
  type TurnSource,
} from './state.ts';
export {
  type DeliveryCounts,
  deliveryCounts,
  type ProcessSummary,
  type SessionSummary,
  sessionSummary,
} from './summary.ts';
export {
  type Compressible,
  compressible,
  type Message,
  pendingAnswer,
  resultsAreFenced,
  resumeNote,
  transcript,
  UNKNOWN_RESULT,
} from './transcript.ts';
export {
  type CoalesceWebhook,
  type CreateSession,
  type RequestTurn,
  waitingWebhook,
  windowEnd,
} from './turns.ts';
export {
  fenced,
  fencedBlock,
  fenceNote,
  hasFence,
  markOf,
  markOfTurn,
  type Surroundings,
  withoutFences,
} from './untrusted.ts';

export type {
  AnswerClarification,
  RequestClarification,
  TimeOutClarification,
} from './clarifications/decide-clarifications.ts';
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
} from './deliveries/decide-deliveries.ts';
export { type DeliveryPlan, deliveryPlan, type SendPlan } from './deliveries/delivery-plan.ts';
export { type Cancel, endsRun } from './ending/decide-ending.ts';
export { type Expire, type ExpiryReason, expiryCodes } from './ending/expiry.ts';
export { evolve, evolveAll, fold, type StreamEvent } from './evolve.ts';
export { type FinishTurn, isSilent, type SayInterim } from './outputs/decide-outputs.ts';
export type {
  ConsumeCompletion,
  RecordProcessExited,
  RecordProcessLost,
  RecordProcessMatched,
  RecordProcessStarted,
  RequestKill,
} from './processes/decide-processes.ts';
export { type Agenda, agenda, WATCHER_TOOLS } from './recovery/agenda.ts';
export {
  type Recovery,
  type RecoveryPolicy,
  type RunLease,
  recover,
  type WaitReason,
} from './recovery/recover.ts';
export type {
  FailRun,
  FinishTool,
  InterruptRun,
  RecordModelResponse,
  StartRun,
  StartTool,
} from './runs/decide-runs.ts';
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
export { agentCall, agentCallId, agentTools, isAgentTool, type StartAgent } from './steps/agent-calls.ts';
export type { CompressContext } from './steps/compression.ts';
export { conversation, fenceInstructions, programPrompt, type Said } from './transcript/agent-prompt.ts';
export {
  type Compressible,
  compressible,
  type Message,
  pendingAnswer,
  resultsAreFenced,
  resumeNote,
  transcript,
  UNKNOWN_RESULT,
} from './transcript/transcript.ts';
export {
  fenced,
  fencedBlock,
  fenceNote,
  hasFence,
  markOf,
  markOfTurn,
  type Surroundings,
  withoutFences,
} from './transcript/untrusted-text.ts';
export { type Continuation, continuation } from './turns/continuation.ts';
export {
  type CoalesceWebhook,
  type CreateSession,
  type RequestTurn,
  waitingWebhook,
  windowEnd,
} from './turns/decide-turns.ts';
export { type Measure, type Milestone, measure } from './views/measure.ts';
export {
  type DeliveryViewRow,
  type ProcessViewRow,
  projectSession,
  type SessionViewRow,
  type SessionViews,
} from './views/project-session.ts';
export {
  type DeliveryCounts,
  deliveryCounts,
  type ProcessSummary,
  type SessionSummary,
  sessionSummary,
} from './views/session-summary.ts';

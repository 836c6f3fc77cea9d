export { allowedCalls } from './approvals/allowed-calls.ts';
export { digestOfArguments } from './approvals/arguments-digest.ts';
export { mayDecide } from './approvals/decide-approvals.ts';
export { type Permission, permissionOf } from './approvals/permission.ts';
export {
  isShownWhole,
  LONGEST_SHOWN,
  type ShownArguments,
  shownArguments,
  visible,
} from './approvals/shown-arguments.ts';
export { decide, decideAll, type SessionCommand } from './decide.ts';
export type { Decision, RefusalCode } from './decision.ts';
export { deliveryPlan, type SendPlan } from './deliveries/delivery-plan.ts';
export { updatePlan } from './deliveries/update-plan.ts';
export { endsRun } from './ending/decide-ending.ts';
export { expiryCodes } from './ending/expiry.ts';
export { evolveAll, fold } from './evolve.ts';
export { isSilent } from './outputs/decide-outputs.ts';
export { agenda, WATCHER_TOOLS } from './recovery/agenda.ts';
export { type Recovery, type RecoveryPolicy, recover } from './recovery/recover.ts';
export {
  type PutOffPlan,
  planPutOff,
  type RetryPolicy,
  type UnusableModel,
  waitIsOver,
} from './runs/put-off-plan.ts';
export {
  initialState,
  type OpenCall,
  type OpenTurn,
  openApproval,
  type ProcessState,
  type PutOff,
  type SessionState,
  type StreamEvent,
  sessionStatus,
  shortened,
  waitingFor,
  waitsForModel,
} from './state.ts';
export { agentCall, agentCallId, agentTools, isAgentTool } from './steps/agent-calls.ts';
export type { FinishTool } from './steps/decide-steps.ts';
export { conversation, fenceInstructions, programPrompt } from './transcript/agent-prompt.ts';
export {
  compressible,
  cutAnswer,
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
  withoutFences,
} from './transcript/untrusted-text.ts';
export { continuation } from './turns/continuation.ts';
export {
  type CreateSession,
  type MissingPlaceholders,
  type RequestTurn,
  waitingWebhook,
  windowEnd,
} from './turns/decide-turns.ts';
export { type Measure, type Milestone, measure } from './views/measure.ts';
export { type DeliveryViewRow, type ProcessViewRow, projectSession } from './views/project-session.ts';
export {
  failureOf,
  type ProcessSummary,
  type SessionSummary,
  sessionSummary,
} from './views/session-summary.ts';
export { endedWait, type Wait, waitOf } from './views/waits.ts';

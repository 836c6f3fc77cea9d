export {
  type Auth,
  type AuthScheme,
  authSchemes,
  type HmacAuth,
  parseAuth,
  type TokenAuth,
} from './config/auth.ts';
export { hmacPresets, tokenPresets } from './config/auth-presets.ts';
export {
  type AgentConfig,
  type ChatConfig,
  type CommandAgentConfig,
  type Config,
  configJsonSchema,
  configSchema,
  type HttpAgentConfig,
  type LlmAgentConfig,
  type McpServerConfig,
  type ModelConfig,
  type ProcessWatcherConfig,
  parseConfig,
  type RouteConfig,
} from './config/config.ts';
export { type FilterConfig, fieldOperators, filterSchema, groupOperators } from './config/filters.ts';
export { refusedHermesKeys, routeSchema } from './config/routes.ts';
export { AngeliaError, isPermanent, isRetryable } from './errors.ts';
export {
  type ChatEventData,
  type ChatEventType,
  chatEventSchemas,
  pairingsStream,
} from './events/chat-events.ts';
export {
  type ArchivedEvent,
  archivedEventSchema,
  type EventMeta,
  type NewEvent,
  type RecordedEvent,
  type RecordedFact,
} from './events/envelope.ts';
export {
  bytesOfBase64,
  type EventImage,
  type ImageType,
  imageNote,
  imageTypes,
  MOST_IMAGE_DATA,
  MOST_IMAGES,
} from './events/images.ts';
export {
  JOB_STREAMS,
  JOBS_PING_SUBJECT,
  type JobAction,
  type JobEventData,
  type JobEventType,
  type JobFact,
  jobActions,
  jobEventSchemas,
  jobIdOf,
  jobStreamId,
} from './events/job-events.ts';
export {
  dataOfReceived,
  RECEIVED_DIRECTORY,
  type ReceivedFile,
  receivedFileSchema,
} from './events/received-files.ts';
export {
  ROUTES_PING_SUBJECT,
  ROUTES_STREAM,
  type RouteEventData,
  type RouteEventType,
  routeEventSchemas,
  routeStreamId,
  type Sealed,
} from './events/route-events.ts';
export {
  type DeliveryTarget,
  type EventData,
  type EventType,
  eventSchemas,
  eventTypes,
  isEventType,
  type KeyEventData,
  type Outcome,
  outputTypes,
  SCHEMA_VERSION,
  type SessionFact,
  type ToolCall,
  type TranscriptMessage,
} from './events/session-events.ts';
export { shownData, withoutReasoning } from './events/shown-data.ts';
export { type HttpTargetBody, httpTargetBody } from './http-target-body.ts';
export {
  type HolderId,
  holderId,
  instanceOf,
  isSessionId,
  runResource,
  type SessionId,
  sessionId,
  watcherResource,
  watchResource,
} from './ids.ts';
export { isSecretKey, isSecretVariable } from './secret-key.ts';
export {
  awaitedTypes,
  CONFIG_PING_SUBJECT,
  cancelSubject,
  erasedSubject,
  FILE_SUBJECT,
  FIRST_TURN_VERSION,
  type FileAnswer,
  type FileRequest,
  fileAnswerSchema,
  fileRequestSchema,
  type Hint,
  hintSchema,
  isAwaited,
  OUTPUT_SUBJECT,
  type OutputAnswer,
  type OutputRequest,
  type Owner,
  outputAnswerSchema,
  outputRequestSchema,
  ownerHints,
  STREAM_NAME,
  STREAM_SUBJECTS,
  subjectFilter,
  subjectOf,
  TAIL_PING_SUBJECT,
  typingSubject,
  unhintedTypes,
  watchPingSubject,
} from './subjects.ts';
export { suggest } from './suggest.ts';
export {
  argumentsJsonSchema,
  argumentsProblem,
  type ProcessArguments,
  parseToolArguments,
  processArguments,
  type TerminalArguments,
  terminalArguments,
} from './tool-arguments.ts';
export { type UnstartedOutcome, unstartedOutcomes } from './unstarted-outcomes.ts';
export { type ConfigProblem, inOneLine, notA, type ValidateOptions, validate } from './validate.ts';

export type { HintVerdict } from '@angelia/bus';
export { HEALTH_PATHS, healthAnswer } from './admin-server.ts';
export { type AnswerLinks, answerLinks, type QuestionName } from './answer-links.ts';
export { type CallbackLinks, type CallName, callbackLinks } from './callback-links.ts';
export { type AddressVariables, addressVariables } from './config/address-references.ts';
export { type CheckedRoute, checkApiRoute } from './config/api-route.ts';
export { agentsThatRunCommands } from './config/command-agents.ts';
export { configPath, demoConfigPath } from './config/config-file.ts';
export { isLoopback, isShortSecret } from './config/cross-references.ts';
export { headerNameProblem, headerValueProblem } from './config/http-headers.ts';
export { literalApiRoute } from './config/interpolate.ts';
export { type LoadedConfig, loadConfig } from './config/load.ts';
export { compilePattern, MOST_PATTERN_WORK, type Pattern } from './config/patterns.ts';
export { type Reference, ReferencedText, written } from './config/referenced-text.ts';
export { routeFileProblems } from './config/route-files.ts';
export { findScript } from './config/script-file.ts';
export { readSkill, SkillUnavailable } from './config/skill-file.ts';
export { hasFixedHost } from './config/target-url.ts';
export {
  isConfigured,
  isKnownTarget,
  type KnownTarget,
  knownTargets,
  type ParsedAddress,
  parseAddress,
  parseCapturedAddress,
  type TargetOptions,
  targetOptions,
  targetSchema,
} from './config/targets.ts';
export { openValueFile, type ValueFile, ValueFileUnreadable } from './config/value-file.ts';
export { Drain, type DrainParticipant } from './drain.ts';
export { type Duties, type DutiesOptions, type DutyName, startDuties } from './duties.ts';
export { type Environment, readEnvironment, type ServiceName, serviceNames } from './environment.ts';
export { type Check, type CheckResult, Health, type Readiness } from './health.ts';
export { newEventId, newFenceSeed, newSessionId, uuidV7 } from './ids.ts';
export {
  continuationKey,
  type KeyedExecuted,
  type KeyedPlan,
  KeyedSessions,
  keyStream,
} from './keyed-sessions.ts';
export { type Clock, LogClock, systemClock } from './log-clock.ts';
export { createLogger, type Logger } from './logging.ts';
export { failureCodes, metrics, type WebhookOutcome } from './metrics/catalogue.ts';
export { onCollect } from './metrics/collect.ts';
export { isPublicAddress } from './public-address.ts';
export { publicUrl } from './public-url.ts';
export { isSecretKey, REDACTED, scrubber, secretsInAddress, secretValuesIn } from './redaction.ts';
export type { PublicHttp, ServiceDefinition } from './run-service.ts';
export { ServiceKitModule, type ServiceRuntime } from './service-kit.module.ts';
export {
  type Executed,
  type ExecuteOptions,
  type Loaded,
  Sessions,
  type SessionsOptions,
  TooManyConflicts,
} from './sessions.ts';
export { type LinkPurpose, type SignedLinks, signedLinks } from './signed-links.ts';
export { EXIT_CONFIG, StartupError } from './startup-error.ts';
export { tailPinger } from './tail-ping.ts';
export {
  ADDRESS_VARIABLES,
  BUS,
  CONFIG,
  DRAIN,
  ENVIRONMENT,
  EVENT_LOG,
  HEALTH,
  HOLDER,
  KEYED_SESSIONS,
  LOGGER,
  SESSIONS,
} from './tokens.ts';
export {
  contextFrom,
  freshTraceparent,
  linkActiveSpan,
  type SpanOptions,
  traceIdNow,
  traceIdOf,
  traceparentNow,
  tracingIsOn,
  withinTrace,
  withSpan,
} from './tracing.ts';
export { JetStreamStrategy, type JetStreamStrategyOptions } from './transport/jetstream.strategy.ts';
export { EventTooNew, upcast } from './upcast.ts';
export { type Signer, signerOf } from './webhook-signature.ts';

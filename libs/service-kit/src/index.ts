export type { HintVerdict } from '@angelia/bus';
export { healthAnswer } from './admin-server.ts';
export { demoConfigPath, type LoadedConfig, loadConfig } from './config/load.ts';
export { type KnownTarget, knownTargets, type TargetOptions, targetOptions } from './config/targets.ts';
export { Drain, type DrainParticipant } from './drain.ts';
export { type Duties, type DutiesOptions, type DutyName, startDuties } from './duties.ts';
export { type Environment, readEnvironment, type ServiceName, serviceNames } from './environment.ts';
export { type Check, type CheckResult, Health, type Readiness } from './health.ts';
export { newEventId, newSessionId, uuidV7 } from './ids.ts';
export { createLogger, type Logger } from './logging.ts';
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
export { EXIT_CONFIG, StartupError } from './startup-error.ts';
export { tailPinger } from './tail-ping.ts';
export { BUS, CONFIG, DRAIN, ENVIRONMENT, EVENT_LOG, HEALTH, HOLDER, LOGGER, SESSIONS } from './tokens.ts';
export {
  contextFrom,
  freshTraceparent,
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

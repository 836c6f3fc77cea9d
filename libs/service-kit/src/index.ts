export type { HintVerdict } from '@angelia/bus';
export type { ReloadResult, RunningReloads } from './config/config-reloads.ts';
export type { ServiceSettings, SettingsContext } from './config/settings.ts';
export { HEALTH_PATHS, healthAnswer } from './health/admin-server.ts';
export { Health } from './health/health.ts';
export { type AnswerLinks, answerLinks, type QuestionName } from './links/answer-links.ts';
export { type CallbackLinks, type CallName, callbackLinks } from './links/callback-links.ts';
export { signedLinks } from './links/signed-links.ts';
export { createLogger, type Logger } from './logs/logger.ts';
export {
  type ChatUpdateOutcome,
  failureCodes,
  metrics,
  UNKNOWN_ROUTE,
  type WebhookOutcome,
  webhookCounter,
} from './metrics/catalogue.ts';
export { onCollect } from './metrics/collect.ts';
export { ServiceKitModule } from './nest/service-kit.module.ts';
export {
  BUS,
  CONFIG,
  CONFIG_RELOADS,
  DRAIN,
  ENVIRONMENT,
  EVENT_LOG,
  HEALTH,
  HOLDER,
  KEYED_SESSIONS,
  LOGGER,
  SESSIONS,
} from './nest/tokens.ts';
export { Drain, type DrainParticipant } from './process/drain.ts';
export type { ServiceRuntime } from './process/runtime.ts';
export { captureContent, captured, captures } from './telemetry/captured-content.ts';
export { announceCommits } from './transport/announce-commits.ts';
export { VERSION } from './version.ts';

export { chatPlatformsOf } from './chat-platforms.ts';
export { agentsThatRunCommands, opensSessionFiles, toolsetsOf } from './check/agents.ts';
export { checkApiRoute } from './check/check-api-route.ts';
export { checkConfigFile } from './check/check-file.ts';
export { commandProblems, ownNetworkProblems } from './check/commands.ts';
export { exposedFileProblems } from './check/exposed-files.ts';
export { compilePattern, MOST_PATTERN_WORK } from './check/patterns.ts';
export { INSECURE_NO_AUTH, isShortSecret } from './check/secrets.ts';
export {
  type ContentClass,
  checkEnvironment,
  type Environment,
  readEnvironment,
  type ServiceName,
  serviceNames,
} from './environment.ts';
export { isInside } from './files/path-inside.ts';
export { routeFileProblems } from './files/route-files.ts';
export { findScript } from './files/script-file.ts';
export { readSkill, SkillUnavailable } from './files/skill-file.ts';
export { openValueFile, ValueFileUnreadable } from './files/value-file.ts';
export { type ConfigSource, type ConfigText, configSource, located } from './live/config-source.ts';
export { changedFixedKeys, type FixedKey, withFixedKeysOf } from './live/fixed-keys.ts';
export { type CurrentConfig, type HeldConfig, LiveConfig, type RunningConfig } from './live/live-config.ts';
export { type AddressVariables, addressVariables } from './load/address-variables.ts';
export { withCommandEnvFile } from './load/command-config.ts';
export { configPath } from './load/config-file.ts';
export { envFilePath, withEnvFile } from './load/env-file.ts';
export { type LoadedConfig, loadCommandConfig, loadConfig, parseConfigText } from './load/load.ts';
export { VariableText, variableReference } from './load/variable-text.ts';
export { literalApiRoute } from './load/variables.ts';
export { isLoopback } from './loopback.ts';
export { outputLimitWarnings } from './output-limits.ts';
export { PLACEHOLDER } from './placeholder.ts';
export { publicUrl, publicUrlWarning } from './public-url.ts';
export {
  hasSignedLink,
  REDACTED,
  scrubber,
  secretsInAddress,
  secretsInUrl,
  secretValuesIn,
} from './secrets/redaction.ts';
export { secretEnvironmentOf } from './secrets/secret-environment.ts';
export {
  ed25519KeyOfHex,
  isPublicKey,
  type StandardKeys,
  standardKeysOf,
} from './secrets/standard-secret.ts';
export { type Signer, signerOf } from './secrets/webhook-signature.ts';
export { shownConfig, withoutSecrets } from './secrets/without-secrets.ts';
export { neededSlackScopes, slackScopes } from './slack-scopes.ts';
export {
  ConfigRefused,
  ConfigUnusable,
  EXIT_CONFIG,
  type LocatedProblem,
  StartupError,
  startupMessage,
} from './startup-error.ts';
export { parseAddress, parseCapturedAddress } from './targets/addresses.ts';
export { headerNameProblem, headerValueProblem } from './targets/http-headers.ts';
export { hasFixedHost } from './targets/http-url.ts';
export { isPublicAddress } from './targets/public-address.ts';
export {
  isConfigured,
  isKnownTarget,
  type KnownTarget,
  knownTargets,
  type TargetOptions,
  targetOptions,
  targetSchema,
} from './targets/schemas.ts';
export { agentsThatAsk, toolPolicyOf, uncheckedCommandWarnings } from './tool-policy.ts';

/** The config without the rest of the kit: for the command line, which should not load Nest to read a file. */
export type { DutyName } from '../duties.ts';
export { checkEnvironment } from '../environment.ts';
export { isSecretKey, REDACTED, scrubber, secretsInUrl, secretValuesIn } from '../redaction.ts';
export { StartupError } from '../startup-error.ts';
export { agentsThatRunCommands } from './command-agents.ts';
export { demoConfigPath } from './config-file.ts';
export { INSECURE_NO_AUTH } from './cross-references.ts';
export { type LoadedConfig, loadConfig, parseConfigText } from './load.ts';
export { openFileProblems } from './open-files.ts';
export { compilePattern } from './patterns.ts';
export { ReferencedText } from './referenced-text.ts';
export { routeFileProblems } from './route-files.ts';
export {
  isConfigured,
  isKnownTarget,
  type KnownTarget,
  knownTargets,
  type TargetOptions,
  targetOptions,
  templateProblems,
} from './targets.ts';

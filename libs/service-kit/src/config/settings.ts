import type { Environment, LoadedConfig } from '@angelia/config';
import type { Logger } from '../logs/logger.ts';

/** What a service makes of a config before it works with it: compiled routes, clients of models, opened targets. */
export interface ServiceSettings<Settings> {
  /**
   * Called at the start and for every new config. Nothing may be in use before it returns: if it throws, the service
   * keeps the settings that it has.
   * @throws StartupError if the service cannot work with this config
   */
  make(loaded: LoadedConfig, context: SettingsContext<Settings>): Settings | Promise<Settings>;
  /** Closes replaced settings, after the last piece of work that holds them. */
  close?(settings: Settings): void | Promise<void>;
}

export interface SettingsContext<Settings> {
  readonly environment: Environment;
  readonly logger: Logger;
  /** The settings in force, to take over what did not change. Null at the start. */
  readonly previous: Settings | null;
}

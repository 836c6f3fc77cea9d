import type { Config } from '@angelia/contracts';
import type { LoadedConfig } from '../load/load.ts';

/** The config in force, for whoever needs nothing but its current values. */
export interface CurrentConfig {
  readonly current: Config;
}

/** The config for one piece of work. It stays what it is until `release`, whatever is taken meanwhile. */
export interface HeldConfig<Settings> {
  readonly config: Config;
  readonly settings: Settings;
  /** To be called once, at the end of the work. */
  release(): void;
}

/** What a service sees of its config. Only the reload may replace it. */
export type RunningConfig<Settings = unknown> = Pick<
  LiveConfig<Settings>,
  'current' | 'loaded' | 'settings' | 'hold' | 'onTaken'
>;

interface InForce<Settings> {
  readonly loaded: LoadedConfig;
  readonly settings: Settings;
  /** How many pieces of work hold it. */
  holders: number;
}

interface LiveConfigOptions<Settings> {
  /** Closes what replaced settings hold open, after the last piece of work with them. */
  readonly close?: (settings: Settings) => void;
}

/**
 * The config of a running service, and what the service made of it (`settings`: compiled routes, clients of models,
 * opened targets). A new config replaces both in one step. A piece of work asks once, at its beginning, and uses what it
 * got until its end: `current` and `settings` for work without a pause, `hold` for work that takes time.
 */
export class LiveConfig<Settings = unknown> implements CurrentConfig {
  readonly #options: LiveConfigOptions<Settings>;
  readonly #listeners = new Set<(config: Config) => void>();
  #inForce: InForce<Settings>;

  constructor(loaded: LoadedConfig, settings: Settings, options: LiveConfigOptions<Settings> = {}) {
    this.#options = options;
    this.#inForce = { loaded, settings, holders: 0 };
  }

  get current(): Config {
    return this.#inForce.loaded.config;
  }

  get loaded(): LoadedConfig {
    return this.#inForce.loaded;
  }

  get settings(): Settings {
    return this.#inForce.settings;
  }

  hold(): HeldConfig<Settings> {
    const held = this.#inForce;
    held.holders += 1;
    return {
      config: held.loaded.config,
      settings: held.settings,
      release: () => {
        held.holders -= 1;
        this.#closeIfUnused(held);
      },
    };
  }

  /** Called after a new config is in force, in the same turn of the event loop. It must not throw. */
  onTaken(listener: (config: Config) => void): void {
    this.#listeners.add(listener);
  }

  take(loaded: LoadedConfig, settings: Settings): void {
    const replaced = this.#inForce;
    this.#inForce = { loaded, settings, holders: 0 };
    for (const listener of this.#listeners) listener(loaded.config);
    this.#closeIfUnused(replaced);
  }

  #closeIfUnused(held: InForce<Settings>): void {
    if (held !== this.#inForce && held.holders === 0) this.#options.close?.(held.settings);
  }
}

import {
  type ConfigSource,
  type ConfigText,
  changedFixedKeys,
  type FixedKey,
  type LiveConfig,
  type LoadedConfig,
  type ServiceName,
  StartupError,
  withFixedKeysOf,
} from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import type { CheckResult } from '../health/health.ts';
import type { Logger } from '../logs/logger.ts';
import { metrics } from '../metrics/catalogue.ts';
import { asRefusal, loadedWith, type StartingConfig } from './starting-config.ts';
import { watchFiles } from './watch-files.ts';

/** What asked for a reload. Somebody waits for the result of `signal` and `api`; the others are silent if nothing changed. */
export type ReloadCause = 'signal' | 'api' | 'file' | 'ping' | 'retry';

export type ReloadResult =
  | { readonly status: 'taken' | 'unchanged'; readonly restartNeeded: readonly FixedKey[] }
  /** The config in force stays. */
  | { readonly status: 'refused'; readonly error: StartupError };

interface ConfigReloadsOptions<Settings> {
  readonly source: ConfigSource;
  readonly service: ServiceName;
  readonly live: LiveConfig<Settings>;
  readonly started: StartingConfig<Settings>;
  /** Makes the settings of a new config. The secrets of the config are known to the logger before it is called. */
  readonly make: (loaded: LoadedConfig) => Settings | Promise<Settings>;
  readonly logger: Logger;
}

/** What the rest of the process sees of it. */
export type RunningReloads = Pick<ConfigReloads, 'reload' | 'readiness' | 'start' | 'stop'>;

/**
 * A file can be wrong because of something outside of it: a missing script, a directory without rights. Nobody notifies
 * us when that is mended, so a refused file is tried again.
 */
const RETRY_REFUSED_MS = 10_000;

/**
 * Takes a changed config while the service runs, or refuses it and keeps the one in force (invariant last-good-config):
 *
 *   in force --the file changes, and the service can work with it--> in force (the new one); its copy is kept
 *            --the file changes, and is wrong--> refused: the old one stays in force, and everybody is told
 *   refused  --the file, or what it needs, is mended--> in force
 */
export class ConfigReloads<Settings = unknown> {
  readonly #options: ConfigReloadsOptions<Settings>;
  readonly #stopping = new AbortController();
  /** The text and the variables that are in force. */
  #from: ConfigText;
  /** The config in force as the file has it. */
  #written: Config;
  #refused: StartupError | null;
  #takenAt = new Date();
  /** Why the last good copy could not be written. */
  #notKept: string | null = null;
  /** Changed keys that this service still uses as they were at its start. */
  #restartNeeded: readonly FixedKey[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ConfigReloadsOptions<Settings>) {
    this.#options = options;
    this.#from = options.started.from;
    this.#written = options.started.loaded.config;
    this.#refused = options.started.refused;
    if (this.#refused !== null) this.#reportRefusal(this.#refused, 'start');
    // The launcher of the local stack starts a service again with the variables that it read itself.
    this.#restartNeeded = this.#neededHere(this.#written, this.#from);
    this.#measure();
  }

  /** Keeps a copy of what the service has started with, and watches the files until `stop`. */
  start(): void {
    const { source } = this.#options;
    const { signal } = this.#stopping;
    this.#keep();
    if (source.watched.length === 0) return;
    void watchFiles(source.watched, { signal, onChange: () => this.reload('file') });
    void this.#retryRefused(signal);
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** One at a time, in the order of the calls. Never throws: whatever goes wrong, the config in force stays. */
  reload(cause: ReloadCause): Promise<ReloadResult> {
    const reloaded = this.#last.then(() => this.#reload(cause));
    this.#last = reloaded;
    return reloaded;
  }

  /** For /readyz. A refused file does not make the service unready: it works with the last good one. */
  readiness(): CheckResult {
    const restart = this.#restartNeeded.map(({ key }) => key);
    return {
      ok: true,
      in_force: this.#refused === null ? 'file' : 'last_good',
      taken_at: this.#takenAt.toISOString(),
      ...(restart.length === 0 ? {} : { restart_needed: restart }),
      ...(this.#notKept === null ? {} : { not_kept: this.#notKept }),
      ...(this.#refused === null ? {} : { problems: this.#refused.lines }),
    };
  }

  async #reload(cause: ReloadCause): Promise<ReloadResult> {
    try {
      return await this.#take(cause);
    } catch (error) {
      const refusal = asRefusal(error);
      this.#refuse(refusal, cause);
      return { status: 'refused', error: refusal };
    }
  }

  async #take(cause: ReloadCause): Promise<ReloadResult> {
    const { source, service, live, make, started, logger } = this.#options;
    const from = source.read();
    if (this.#refused === null && isSame(from, this.#from)) {
      const asked = cause === 'signal' || cause === 'api';
      logger[asked ? 'info' : 'debug']({ cause, file: source.file.path }, 'config unchanged');
      return { status: 'unchanged', restartNeeded: this.#restartNeeded };
    }
    let written = this.#written;
    const { settings: next } = await loadedWith(source, from, async (loaded) => {
      written = loaded.config;
      // The fixed keys first, so that the settings are made of what will be in force.
      const fixed = { ...loaded, config: withFixedKeysOf(started.loaded.config, written, service) };
      return { loaded: fixed, settings: await make(fixed) };
    });
    const elsewhere = changedFixedKeys(this.#written, written).filter(
      ({ services }) => !services.includes(service),
    );
    live.take(next.loaded, next.settings);
    this.#from = from;
    this.#written = written;
    this.#refused = null;
    this.#takenAt = new Date();
    this.#restartNeeded = this.#neededHere(written, from);
    this.#keep();
    this.#measure();
    metrics.configReloads.add({ outcome: 'taken' });
    const restartNeeded = [...this.#restartNeeded, ...elsewhere];
    logger.info({ cause, file: source.file.path }, 'config taken');
    if (restartNeeded.length > 0) {
      logger.warn(
        { restart_needed: restartNeeded },
        `these changes take effect after a restart: ${restartNeeded.map(({ key }) => key).join(', ')}`,
      );
    }
    return { status: 'taken', restartNeeded };
  }

  /** Compared with the start, because that is what the service still uses. */
  #neededHere(written: Config, { env }: ConfigText): FixedKey[] {
    const { source, service, started } = this.#options;
    return [
      ...changedFixedKeys(started.loaded.config, written).filter(({ services }) =>
        services.includes(service),
      ),
      ...source.changedSettings(env).map((key) => ({ key: `${key} (.env)`, services: [service] })),
    ];
  }

  #refuse(error: StartupError, cause: ReloadCause): void {
    const isNews = this.#refused?.message !== error.message;
    this.#refused = error;
    this.#measure();
    if (isNews) metrics.configReloads.add({ outcome: 'refused' });
    if (isNews || cause === 'signal' || cause === 'api') this.#reportRefusal(error, cause);
  }

  #reportRefusal(error: StartupError, cause: ReloadCause | 'start'): void {
    const { source, logger } = this.#options;
    const { cause: bug } = error;
    logger.error(
      {
        cause,
        file: source.file.path,
        problems: error.lines,
        ...(cause === 'start' ? { last_good: source.keptAt } : {}),
        ...(bug instanceof StartupError || bug === undefined ? {} : { err: bug }),
      },
      `the config file is wrong, and the last good config ${cause === 'start' ? 'is used' : 'stays in force'}: ${error.lines[0]}`,
    );
  }

  #keep(): void {
    const { source, logger } = this.#options;
    if (source.file.demo) return;
    try {
      source.keep(this.#from.text);
      this.#notKept = null;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#notKept === null) {
        logger.warn(
          { reason },
          `no copy of the config could be kept (${source.keptAt}): while the file is wrong, a restart will fail. Set ANGELIA_DATA to a directory that this service can write`,
        );
      }
      this.#notKept = reason;
    }
  }

  #measure(): void {
    metrics.configRefused.set({}, this.#refused === null ? 0 : 1);
    metrics.configRestartNeeded.set({}, this.#restartNeeded.length);
  }

  async #retryRefused(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(RETRY_REFUSED_MS, signal);
      if (this.#refused !== null && !signal.aborted) await this.reload('retry');
    }
  }
}

function isSame(a: ConfigText, b: ConfigText): boolean {
  const names = new Set([...Object.keys(a.env), ...Object.keys(b.env)]);
  return a.text === b.text && [...names].every((name) => a.env[name] === b.env[name]);
}

import {
  type ConfigSource,
  type ConfigText,
  type LoadedConfig,
  located,
  StartupError,
} from '@angelia/config';

/** The config that a service starts with, and what it made of it. */
export interface StartingConfig<Settings> {
  readonly from: ConfigText;
  readonly loaded: LoadedConfig;
  readonly settings: Settings;
  /** Why the file is not used. Null: it is. */
  readonly refused: StartupError | null;
}

/**
 * The file; if that is wrong, the last good copy of it (invariant last-good-config).
 * @throws what is wrong with the file, if there is no copy or the copy cannot be used either
 */
export async function startingConfig<Settings>(
  source: ConfigSource,
  make: (loaded: LoadedConfig) => Settings | Promise<Settings>,
): Promise<StartingConfig<Settings>> {
  const attempt = async (read: () => ConfigText) => {
    const from = read();
    return { from, ...(await loadedWith(source, from, make)) };
  };
  try {
    return { ...(await attempt(() => source.read())), refused: null };
  } catch (error) {
    const kept = source.readKept();
    if (kept === null) throw error;
    try {
      return { ...(await attempt(() => kept)), refused: asRefusal(error) };
    } catch {
      throw error;
    }
  }
}

/** Anything else than a StartupError is a bug of ours. It must not stop a service that has a config to work with. */
export function asRefusal(error: unknown): StartupError {
  return error instanceof StartupError ? error : new StartupError([String(error)], { cause: error });
}

/** @throws StartupError with places in the file */
export async function loadedWith<Settings>(
  source: ConfigSource,
  from: ConfigText,
  make: (loaded: LoadedConfig) => Settings | Promise<Settings>,
): Promise<{ readonly loaded: LoadedConfig; readonly settings: Settings }> {
  const loaded = source.load(from);
  try {
    return { loaded, settings: await make(loaded) };
  } catch (error) {
    throw error instanceof StartupError ? located(error, loaded) : error;
  }
}

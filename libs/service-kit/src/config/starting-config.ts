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
 * @throws StartupError about the file, if there is no copy or the copy cannot be used either
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
  } catch (refused) {
    if (!(refused instanceof StartupError)) throw refused;
    const kept = source.readKept();
    if (kept === null) throw refused;
    try {
      return { ...(await attempt(() => kept)), refused };
    } catch (error) {
      throw error instanceof StartupError ? refused : error;
    }
  }
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

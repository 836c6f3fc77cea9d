import {
  type Environment,
  isConfigured,
  type KnownTarget,
  knownTargets,
  targetOptions,
} from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { clicksUrl } from './clicks-url.ts';
import { missingTarget } from './missing-target.ts';
import type { LogLine } from './platforms/log.ts';
import { redactCredentials } from './redact-secrets.ts';
import type { Target, TargetSettings } from './target.ts';

/** A target with its part of the config. */
export interface ConfiguredTarget {
  readonly target: Target;
  readonly settings: TargetSettings;
}

export interface Targets {
  /** An unknown name gives a target that refuses permanently and says why, never another target (seed 000). */
  find(name: string): ConfiguredTarget;
  has(name: string): boolean;
  close(): Promise<void>;
}

type Open = (logger: LogLine) => Target;

/**
 * How each target of this version is opened. libs/config knows their settings; the type makes sure that none is missing here.
 * A target is loaded only if it is configured: nodemailer alone takes 30 ms of CPU.
 */
const adapters: Readonly<Record<KnownTarget, () => Promise<Open>>> = {
  discord: async () => (await import('./platforms/discord.ts')).discordTarget,
  email: () =>
    import('./platforms/email.ts').then(
      ({ emailTarget }) =>
        () =>
          emailTarget(),
    ),
  github_comment: async () => (await import('./platforms/github-comment.ts')).githubCommentTarget,
  http: () =>
    import('./http/http.ts').then(
      ({ httpTarget }) =>
        () =>
          httpTarget(),
    ),
  log: async () => (await import('./platforms/log.ts')).logTarget,
  matrix: async () => (await import('./platforms/matrix.ts')).matrixTarget,
  mattermost: async () => (await import('./platforms/mattermost.ts')).mattermostTarget,
  slack: async () => (await import('./platforms/slack.ts')).slackTarget,
  telegram: async () => (await import('./platforms/telegram.ts')).telegramTarget,
};

type LoadedAdapters = ReadonlyMap<KnownTarget, Open>;

/** A target that needs a credential and has none is not opened. No route can name it, only an older session. */
export const configuredTargets = (config: Config): readonly KnownTarget[] =>
  knownTargets.filter((name) => isConfigured(config, name));

/** Called at start, so that an adapter that cannot be loaded fails there and not at the first webhook. */
export async function loadAdapters(names: readonly KnownTarget[]): Promise<LoadedAdapters> {
  return new Map(await Promise.all(names.map(async (name) => [name, await adapters[name]()] as const)));
}

export function openTargets(
  config: Config,
  logger: LogLine,
  loaded: LoadedAdapters,
  environment: Pick<Environment, 'host' | 'port'>,
): Targets {
  const ready = new Map<string, ConfiguredTarget>(
    configuredTargets(config).map((name) => {
      const open = loaded.get(name);
      if (open === undefined) throw new Error(`the target ${name} is configured but was not loaded`);
      const options: TargetSettings = targetOptions(config, name);
      const clicks = clicksUrl(config, name, options, environment);
      const settings: TargetSettings = clicks === null ? options : { ...options, clicks_url: clicks };
      return [name, { target: redactCredentials(open(logger), settings), settings }];
    }),
  );
  return {
    has: (name) => ready.has(name),
    find: (name) => ready.get(name) ?? { target: missingTarget(name), settings: {} },
    close: async () => {
      await Promise.all([...ready.values()].map(({ target }) => target.close()));
    },
  };
}

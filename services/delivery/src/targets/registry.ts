import type { Config } from '@angelia/contracts';
import { isConfigured, type KnownTarget, knownTargets, targetOptions } from '@angelia/service-kit';
import { discordTarget } from './discord.ts';
import { emailTarget } from './email.ts';
import { githubCommentTarget } from './github-comment.ts';
import { httpTarget } from './http.ts';
import { type LogLine, logTarget } from './log.ts';
import { matrixTarget } from './matrix.ts';
import { mattermostTarget } from './mattermost.ts';
import { missingTarget } from './missing.ts';
import { slackTarget } from './slack.ts';
import type { Target, TargetSettings } from './target.ts';
import { telegramTarget } from './telegram.ts';
import { withoutCredentials } from './without-credentials.ts';

/** A target with its part of the config. */
export interface ReadyTarget {
  readonly target: Target;
  readonly settings: TargetSettings;
}

export interface Targets {
  /** A name that is no target gives one that refuses for good, by name: never another in its place (seed 000). */
  find(name: string): ReadyTarget;
  /** What is wrong with the config of any target; asked at start. */
  problems(): readonly string[];
  close(): Promise<void>;
}

/** How each target of this version is opened. service-kit knows their config; the type makes sure that none is missing here. */
const adapters: Readonly<Record<KnownTarget, (logger: LogLine) => Target>> = {
  discord: () => discordTarget(),
  email: () => emailTarget(),
  github_comment: () => githubCommentTarget(),
  http: () => httpTarget(),
  log: (logger) => logTarget(logger),
  matrix: () => matrixTarget(),
  mattermost: () => mattermostTarget(),
  slack: () => slackTarget(),
  telegram: () => telegramTarget(),
};

export function openTargets(config: Config, logger: LogLine): Targets {
  // One that needs a credential and has none is not opened: no route can name it, only a session from before.
  const ready = new Map<string, ReadyTarget>(
    knownTargets
      .filter((name) => isConfigured(config, name))
      .map((name) => {
        const settings: TargetSettings = targetOptions(config, name);
        return [name, { target: withoutCredentials(adapters[name](logger), settings), settings }];
      }),
  );
  return {
    find: (name) => ready.get(name) ?? { target: missingTarget(name), settings: {} },
    problems: () =>
      [...ready].flatMap(([name, { target, settings }]) =>
        target.checkSettings(settings).map((problem) => `targets.${name}.${problem}`),
      ),
    close: async () => {
      await Promise.all([...ready.values()].map(({ target }) => target.close()));
    },
  };
}

import type { Config } from '@angelia/contracts';
import { type KnownTarget, knownTargets, targetOptions } from '@angelia/service-kit';
import { httpTarget } from './http.ts';
import { type LogLine, logTarget } from './log.ts';
import { missingTarget } from './missing.ts';
import type { Target, TargetSettings } from './target.ts';

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

/** All targets of this version. service-kit knows their config; the type makes sure that none is missing here. */
export function openTargets(config: Config, logger: LogLine): Targets {
  const adapters: Readonly<Record<KnownTarget, Target>> = { http: httpTarget(), log: logTarget(logger) };
  const ready = new Map<string, ReadyTarget>(
    knownTargets.map((name) => [name, { target: adapters[name], settings: targetOptions(config, name) }]),
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

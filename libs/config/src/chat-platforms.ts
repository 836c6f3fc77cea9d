import type { Config } from '@angelia/contracts';

/** The platforms whose messages and clicks come back to us: those of the enabled `chats`. */
export function chatPlatformsOf({ chats }: Pick<Config, 'chats'>): ReadonlySet<string> {
  return new Set(Object.values(chats).flatMap(({ enabled, platform }) => (enabled ? [platform] : [])));
}

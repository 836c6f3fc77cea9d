/** The platforms that bring messages in. Each has a delivery target of the same name, whose credentials it uses. */
export const chatPlatforms = [
  'telegram',
  'slack',
  'discord',
  'mattermost',
  'matrix',
  'github_comment',
  'email',
] as const;
export type ChatPlatformName = (typeof chatPlatforms)[number];

/**
 * Where a message stands, in the platform's own ids. delivery derives it from a receipt and ingress from an update, so both
 * must spell it the same way.
 */
export interface MessagePlace {
  readonly platform: ChatPlatformName;
  /**
   * The chat, channel, room, `owner/repo#number`, or the mailbox of a correspondent. Unique for one account of the platform:
   * in Telegram two bots have the same number for a private chat, and the config has one bot per platform.
   */
  readonly chat: string;
  /** Topic, thread or root message; null outside of threads. */
  readonly thread: string | null;
  /**
   * The chat around it, if the platform counts a thread as a chat (Discord). Whoever may speak there may speak here. It is not
   * part of keys, because delivery does not know it.
   */
  readonly parent?: string;
}

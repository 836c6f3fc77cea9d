import type { ChatPlatformName } from '@angelia/chats';
import type { ChatPlatform } from './platform.ts';
import { discord } from './platforms/discord/discord.ts';
import { email } from './platforms/email/email.ts';
import { github } from './platforms/github.ts';
import { matrix } from './platforms/matrix/matrix.ts';
import { mattermost } from './platforms/mattermost/mattermost.ts';
import { slack } from './platforms/slack/slack.ts';
import { telegram } from './platforms/telegram.ts';

const platforms: readonly ChatPlatform[] = [telegram, slack, discord, mattermost, matrix, github, email];

const byName: ReadonlyMap<string, ChatPlatform> = new Map(
  platforms.map((platform) => [platform.name, platform]),
);

/** The schema of `chats` has no other names. */
export function platformNamed(name: ChatPlatformName): ChatPlatform {
  const platform = byName.get(name);
  if (platform === undefined) throw new Error(`no chat platform is named ${name}`);
  return platform;
}

/** The platform of an address of delivery; null: nothing comes in from there. */
export function platformOfTarget(target: string): ChatPlatform | null {
  return byName.get(target) ?? null;
}

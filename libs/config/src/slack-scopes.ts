import type { ChatConfig } from '@angelia/contracts';

/** Of the bot's token. The manifest of the app has all of them, so that a changed config needs no new app. */
export const slackScopes = [
  'app_mentions:read',
  'channels:history',
  'channels:read',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'groups:read',
  'im:history',
  'im:read',
  'mpim:history',
  'mpim:read',
] as const;

/** To read what was written while no socket was open. A webhook of Slack needs none of them. */
const catchUpScopes: ReadonlySet<string> = new Set(['channels:read', 'groups:read', 'im:read', 'mpim:read']);

/** What this chat cannot do without. */
export function neededSlackScopes({ files, receive }: Pick<ChatConfig, 'files' | 'receive'>): string[] {
  return slackScopes.filter((scope) => {
    if (scope === 'files:read') return files.take;
    if (scope === 'files:write') return files.deliver;
    return receive === 'connection' || !catchUpScopes.has(scope);
  });
}

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

/** What this chat cannot do without. */
export function neededSlackScopes({ files }: Pick<ChatConfig, 'files'>): string[] {
  return slackScopes.filter(
    (scope) => (scope !== 'files:read' || files.take) && (scope !== 'files:write' || files.deliver),
  );
}

import type { PlatformCall, PlatformSettings } from '../../platform.ts';
import { callJson } from '../call-json.ts';

/** "Clients using the HTTP API must provide a valid User Agent". */
const USER_AGENT = 'DiscordBot (https://github.com/angelia, 0.1)';

/** One call of Discord's API, by the bot of `targets.discord`. @throws CallRefused, or an error of the connection */
export function callDiscord(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  { settings, signal }: PlatformCall,
  body?: unknown,
  options: { readonly timeoutMs?: number } = {},
): Promise<unknown> {
  return callJson({
    // The path of a callback has the token of the interaction.
    what: `Discord refused ${method} ${path.replace(/^(\/interactions\/\d+|\/webhooks\/\d+)\/.*$/, '$1')}`,
    method,
    url: `${String(settings.target.api_base)}${path}`,
    headers: { authorization: `Bot ${String(settings.target.bot_token)}`, 'user-agent': USER_AGENT },
    ...(body === undefined ? {} : { body }),
    signal,
    ...options,
  });
}

/** The first part of a token is the bot's id in base64. It is no secret: everybody on a server sees it. */
export function botIdOf({ target }: PlatformSettings): string {
  const [first = ''] = String(target.bot_token).split('.');
  const id = Buffer.from(first, 'base64').toString('latin1');
  return /^\d{1,20}$/.test(id) ? id : 'bot';
}

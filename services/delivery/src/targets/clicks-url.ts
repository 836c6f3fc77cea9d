import { type Environment, isLoopback, publicUrl } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import type { TargetSettings } from './target.ts';

/** Where the platform reaches the chat that the config has of it. Null: no chat, or an address of this machine only. */
export function clicksUrl(
  config: Config,
  platform: string,
  { api_base: api }: TargetSettings,
  environment: Pick<Environment, 'host' | 'port'>,
): string | null {
  const [name] =
    Object.entries(config.chats).find(([, chat]) => chat.enabled && chat.platform === platform) ?? [];
  if (name === undefined) return null;
  const base = publicUrl(config, environment);
  // A server on this machine reaches it, too.
  const isNear = typeof api === 'string' && isLoopback(new URL(api).hostname);
  return isLoopback(new URL(base).hostname) && !isNear ? null : `${base}/chats/${platform}/${name}`;
}

import type { ChatMessage, ChatUpdate, PlatformCall } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import { callMattermost } from './api.ts';
import { type OwnUser, readPost } from './updates.ts';

/**
 * An outgoing webhook does not say whether a bot (perhaps ours) wrote the post, or which thread it belongs to. A post of ours
 * that begins with the trigger word would begin a loop, so the post is asked for, and read as one of the connection.
 */
export async function lookAtPost(message: ChatMessage, context: PlatformCall): Promise<ChatUpdate> {
  if (message.command !== null && message.message.startsWith('command:')) return message; // no bot sends slash commands
  const { updateId } = message;
  const other = (why: string): ChatUpdate => ({ kind: 'other', updateId, why });
  try {
    const [post, self] = await Promise.all([
      callMattermost<unknown>('GET', `/posts/${message.message}`, context),
      callMattermost<OwnUser>('GET', '/users/me', context),
    ]);
    const posted = { channelType: 'O', sender: message.from.name };
    const { update } = readPost(post, posted, self, context.settings, Date.now());
    if (update.kind !== 'message') return update;
    if (update.from.id !== message.from.id) return other('another post than the webhook is about');
    // The text without the trigger word.
    return { ...update, text: message.text, command: message.command, mentioned: true };
  } catch (error) {
    if (error instanceof CallRefused && (error.status === 403 || error.status === 404))
      return other('a post that the bot cannot read: add the bot to the channel');
    throw error;
  }
}

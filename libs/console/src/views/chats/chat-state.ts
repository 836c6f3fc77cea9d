import type { Chat } from '../../api/calls/chat-calls.ts';
import type { Tone } from '../../parts/feedback/badge.tsx';

/** Only the replica of ingress that has the connection knows how it is. */
export function chatState({ enabled, connection, webhook_url: url }: Chat): {
  readonly tone: Tone;
  readonly text: string;
} {
  if (!enabled) return { tone: 'calm', text: 'Disabled' };
  if (connection === null)
    return url === null ? { tone: 'bad', text: 'No public_url' } : { tone: 'ok', text: 'Takes webhooks' };
  if (connection.connected) return { tone: 'ok', text: 'Connected' };
  if (connection.error !== null) return { tone: 'bad', text: 'Not connected' };
  return connection.leading
    ? { tone: 'busy', text: 'Connecting' }
    : { tone: 'calm', text: 'With another replica' };
}

import { z } from 'zod';
import type { ConnectionContext } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import { callMatrix } from './matrix-call.ts';
import type { RoomEvent } from './sync-answer.ts';

const membership = z.object({
  type: z.literal('m.room.member'),
  state_key: z.string(),
  sender: z.string(),
  content: z.object({ membership: z.string() }),
  unsigned: z.object({ prev_content: z.object({ membership: z.string().optional() }).optional() }).optional(),
});

/** Who invited us; null: nobody, or the server does not say. */
export function invitedBy(stateOfInvite: readonly unknown[], self: string): string | null {
  for (const event of stateOfInvite) {
    const parsed = membership.safeParse(event);
    if (!parsed.success) continue;
    const { state_key: who, content, sender } = parsed.data;
    if (who === self && content.membership === 'invite') return sender;
  }
  return null;
}

/** Joining twice does no harm. A room that cannot be joined any more stops nothing. */
export async function joinRoom(room: string, context: ConnectionContext): Promise<void> {
  try {
    await callMatrix('POST', `/rooms/${encodeURIComponent(room)}/join`, context, { body: {} });
  } catch (error) {
    if (!(error instanceof CallRefused) || error.status >= 500 || error.status === 429) throw error;
    context.tell(`room ${room} cannot be joined: ${error.message}`);
  }
}

/**
 * A room that we have just joined comes with its history. What was said before we were invited was not addressed to the bot; what was
 * said between the invitation and our joining was.
 */
export function sinceInvited(events: readonly RoomEvent[], self: string): readonly RoomEvent[] {
  const mine = events.map((event) => myMembership(event, self));
  const invited = mine.lastIndexOf('invite');
  return events.slice((invited === -1 ? mine.lastIndexOf('join') : invited) + 1);
}

/** `join` only if we were not in the room before: a new name of ours is a `join`, too. */
function myMembership(event: RoomEvent, self: string): string | null {
  const parsed = membership.safeParse(event);
  if (!parsed.success || parsed.data.state_key !== self) return null;
  const { content, unsigned } = parsed.data;
  const isSame = content.membership === 'join' && unsigned?.prev_content?.membership === 'join';
  return isSame ? null : content.membership;
}

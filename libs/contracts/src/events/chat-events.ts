import { z } from 'zod';

/**
 * Pairings of a chat: who was let in by a one-time code. One stream per chat, `chat-pairings-<name>`. The code itself is shown
 * once and kept as its hash.
 */
const pairingOffered = z.object({
  pairing_id: z.string(),
  /** What those who use the code are called: a part of the actor of what they do. */
  name: z.string(),
  code_digest: z.string(),
  expires_at: z.iso.datetime({ offset: true }),
});

/** The code was used. It lets in one person, or everybody in a group. */
const pairingAccepted = z.object({
  pairing_id: z.string(),
  kind: z.enum(['user', 'chat']),
  /** The platform's id of the person or of the chat. */
  id: z.string(),
});

const pairingRevoked = z.object({ pairing_id: z.string() });

export const chatEventSchemas = {
  'pairing.offered': pairingOffered,
  'pairing.accepted': pairingAccepted,
  'pairing.revoked': pairingRevoked,
} as const;

export type ChatEventType = keyof typeof chatEventSchemas;
export type ChatEventData<T extends ChatEventType> = z.infer<(typeof chatEventSchemas)[T]>;

export function pairingsStream(chat: string): string {
  return `chat-pairings-${chat}`;
}

import { pairingsStream } from '@angelia/contracts';
import type { ConnectionNote } from '../leading/lead.ts';
import { type DoctorOptions, withDoctorConnection } from './doctor-connection.ts';

/** What `angelia doctor` wants to know about the chats of the config, by the name of the chat. */
export interface ChatsSeen {
  /** Who leads the connection, and what it says about it; null: nothing yet. Without those that nobody leads. */
  readonly connections: ReadonlyMap<
    string,
    { readonly holder: string; readonly note: ConnectionNote | null }
  >;
  /** Who was let in by a code. */
  readonly paired: ReadonlyMap<string, readonly { readonly kind: 'user' | 'chat'; readonly id: string }[]>;
}

const CONNECTIONS = `
  SELECT substr(name, 6) AS chat, holder, note FROM angelia.leaders
  WHERE name LIKE 'chat:%' AND expires_at > clock_timestamp()`;

const PAIRED = `
  SELECT a.stream_id, a.data->>'kind' AS kind, a.data->>'id' AS id FROM angelia.events a
  WHERE a.stream_id = ANY ($1) AND a.type = 'pairing.accepted' AND NOT EXISTS (
    SELECT FROM angelia.events r WHERE r.stream_id = a.stream_id AND r.type = 'pairing.revoked'
      AND r.data->>'pairing_id' = a.data->>'pairing_id')`;

/** @throws LogError also when there is no schema of this version */
export function readChats({
  chats,
  ...options
}: DoctorOptions & { readonly chats: readonly string[] }): Promise<ChatsSeen> {
  return withDoctorConnection(options, async (client) => {
    const led = await client.query<{ chat: string; holder: string; note: ConnectionNote | null }>(
      CONNECTIONS,
    );
    const accepted = await client.query<{ stream_id: string; kind: 'user' | 'chat'; id: string }>(PAIRED, [
      chats.map(pairingsStream),
    ]);
    return {
      connections: new Map(led.rows.map(({ chat, ...connection }) => [chat, connection])),
      paired: new Map(
        chats.map((chat) => [
          chat,
          accepted.rows.filter(({ stream_id: stream }) => stream === pairingsStream(chat)),
        ]),
      ),
    };
  });
}

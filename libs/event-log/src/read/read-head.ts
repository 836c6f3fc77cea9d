import type { EventMeta, RecordedEvent } from '@angelia/contracts';
import type { Lane, Statement } from '../connection/database.ts';

const HEAD: Statement = {
  name: 'read_head',
  text: `SELECT e.position, e.version, e.type, e.schema_version, e.event_id, e.data, e.meta,
                date_part('epoch', e.recorded_at) * 1000
         FROM angelia.events e WHERE e.stream_id = $1 ORDER BY e.version DESC LIMIT 1`,
};

const KNOWN_KEY: Statement = {
  name: 'known_key',
  text: 'SELECT i.stream_id FROM angelia.idempotency_keys i WHERE i.key = $1 AND i.expires_at > now()',
};

/** The last event of a stream: all that matters of one whose every event replaces the one before it. */
export async function readHead(lane: Lane, streamId: string): Promise<RecordedEvent | null> {
  const [row] = await lane.query(HEAD, [streamId]);
  if (row === undefined) return null;
  return {
    position: row[0] as number,
    streamId,
    version: row[1] as number,
    type: row[2] as string,
    schemaVersion: row[3] as number,
    eventId: row[4] as string,
    data: row[5],
    meta: row[6] as EventMeta,
    recordedAt: Math.round(row[7] as number),
  };
}

/** The stream that a key stored first; null when it is unknown or past its time. */
export async function knownKey(lane: Lane, key: string): Promise<string | null> {
  const [row] = await lane.query(KNOWN_KEY, [key]);
  return row === undefined ? null : (row[0] as string);
}

import type { EventMeta, RecordedEvent } from '@angelia/contracts';
import { BatchReader } from '../connection/batch-reader.ts';
import { int4Array, textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Row, Statement } from '../connection/connection-pool.ts';

interface StreamRead {
  readonly streamId: string;
  readonly fromVersion: number;
}

/** One nested loop over the primary key: the cost is that of the streams asked for, whatever the size of the table. */
const READ: Statement = {
  name: 'read_streams',
  text: `SELECT e.position, e.version, e.type, e.schema_version, e.event_id, e.data, e.meta,
                date_part('epoch', e.recorded_at) * 1000, s.n
         FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS s(stream_id, from_version, n)
         CROSS JOIN LATERAL (
           SELECT * FROM angelia.events e
           WHERE e.stream_id = s.stream_id AND e.version >= s.from_version
           ORDER BY e.version
         ) e`,
};

/** Streams have tens of events. Postgres answers for 64 of them in a few milliseconds. */
const STREAMS_PER_QUERY = 64;

export class StreamReader extends BatchReader<StreamRead, RecordedEvent[]> {
  constructor(pool: ConnectionPool) {
    super(STREAMS_PER_QUERY, (reads) => readStreams(pool, reads));
  }
}

async function readStreams(pool: ConnectionPool, reads: readonly StreamRead[]): Promise<RecordedEvent[][]> {
  const rows = await pool.query(READ, [
    textArray(reads.map((read) => read.streamId)),
    int4Array(reads.map((read) => read.fromVersion)),
  ]);
  const answers: RecordedEvent[][] = reads.map(() => []);
  for (const row of rows) {
    const index = (row[8] as number) - 1;
    answers[index]?.push(toRecordedEvent(reads[index]?.streamId ?? '', row));
  }
  return answers;
}

/** Columns: position, version, type, schema_version, event_id, data, meta, recorded_at in milliseconds. */
export function toRecordedEvent(streamId: string, row: Row): RecordedEvent {
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

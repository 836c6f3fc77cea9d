import { type NewEvent, SCHEMA_VERSION } from '@angelia/contracts';
import { int4Array, jsonbArray, textArray, uuidArray } from '../connection/binary-array.ts';
import type { EventLog } from '../event-log.ts';

export interface RawRow {
  readonly streamId: string;
  readonly version: number;
  readonly event: NewEvent;
}

const INSERT = {
  name: 'raw_insert',
  text: `INSERT INTO angelia.events (stream_id, version, type, schema_version, event_id, data, meta, epoch, recorded_at)
         SELECT e.stream, e.version, e.type, ${SCHEMA_VERSION}, e.id, e.data, e.meta, 1, clock_timestamp()
         FROM unnest($1::text[], $2::int[], $3::text[], $4::uuid[], $5::jsonb[], $6::jsonb[])
           e(stream, version, type, id, data, meta)`,
};

/**
 * The baseline for measuring appends: the same rows into the same table, in one batched statement on the same kind of
 * connection, without locks, heads, keys, leases or verdicts. For benchmarks only.
 */
export async function insertRaw(log: EventLog, rows: readonly RawRow[]): Promise<void> {
  await log.database.durable.query(INSERT, [
    textArray(rows.map((row) => row.streamId)),
    int4Array(rows.map((row) => row.version)),
    textArray(rows.map((row) => row.event.type)),
    uuidArray(rows.map((row) => row.event.eventId)),
    jsonbArray(rows.map((row) => JSON.stringify(row.event.data))),
    jsonbArray(rows.map((row) => JSON.stringify(row.event.meta))),
  ]);
}

import type { EventMeta, RecordedEvent } from '@angelia/contracts';
import { BatchReader } from '../connection/batch-reader.ts';
import { int4Array, textArray } from '../connection/binary-array.ts';
import type { Lane, Statement } from '../connection/database.ts';

interface Question {
  readonly streamId: string;
  readonly fromVersion: number;
}

/** One nested loop over the primary key: the cost is that of the streams asked for, whatever the table's size. */
const READ: Statement = {
  name: 'read_streams',
  text: `SELECT s.n, e.position, e.version, e.type, e.schema_version, e.event_id, e.data, e.meta,
                date_part('epoch', e.recorded_at) * 1000
         FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS s(stream_id, from_version, n)
         CROSS JOIN LATERAL (
           SELECT * FROM angelia.events e
           WHERE e.stream_id = s.stream_id AND e.version >= s.from_version
           ORDER BY e.version
         ) e`,
};

/** Streams have tens of events: 64 of them are a page that Postgres answers in a few milliseconds. */
const STREAMS_PER_QUERY = 64;

export class StreamReader extends BatchReader<Question, RecordedEvent[]> {
  constructor(lane: Lane) {
    super(STREAMS_PER_QUERY, (questions) => readStreams(lane, questions));
  }
}

async function readStreams(lane: Lane, questions: readonly Question[]): Promise<RecordedEvent[][]> {
  const rows = await lane.query(READ, [
    textArray(questions.map((question) => question.streamId)),
    int4Array(questions.map((question) => question.fromVersion)),
  ]);
  const answers: RecordedEvent[][] = questions.map(() => []);
  for (const row of rows) {
    const index = (row[0] as number) - 1;
    answers[index]?.push({
      position: row[1] as number,
      streamId: questions[index]?.streamId ?? '',
      version: row[2] as number,
      type: row[3] as string,
      schemaVersion: row[4] as number,
      eventId: row[5] as string,
      data: row[6],
      meta: row[7] as EventMeta,
      recordedAt: Math.round(row[8] as number),
    });
  }
  return answers;
}

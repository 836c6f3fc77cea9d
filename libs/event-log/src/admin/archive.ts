import { createReadStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gzip } from 'node:zlib';
import {
  type ArchivedEvent,
  archivedEventSchema,
  type RecordedEvent,
  withoutReasoning,
} from '@angelia/contracts';
import { float8Array, int4Array, jsonbArray, textArray, uuidArray } from '../connection/binary-array.ts';
import type { Statement } from '../connection/connection-pool.ts';
import { LogError, UnreadableArchive } from '../errors.ts';
import type { EventLog } from '../event-log.ts';

/**
 * Sessions outside the log: one file per day (of their end, UTC), compressed JSON lines, one line per event, the events of
 * a session together. Each batch is a gzip member of its own, appended to the file, and is on the disk before anything is
 * deleted. A crash in between writes a batch twice; reading it back takes each event once.
 */
const compress = promisify(gzip);

/**
 * For `beforeDelete` of pruneSessions.
 * @param withThoughts also what models thought between tool calls. A session that goes on after an import can do without.
 */
export function exportTo(
  directory: string,
  { withThoughts = false }: { readonly withThoughts?: boolean } = {},
): (sessions: readonly (readonly RecordedEvent[])[]) => Promise<void> {
  return async (sessions) => {
    const byDay = new Map<string, string[]>();
    for (const events of sessions) {
      const last = events.at(-1);
      if (last === undefined) continue;
      const day = new Date(last.recordedAt).toISOString().slice(0, 10);
      const lines = byDay.get(day) ?? [];
      lines.push(...events.map((event) => `${JSON.stringify(toLine(event, withThoughts))}\n`));
      byDay.set(day, lines);
    }
    await mkdir(directory, { recursive: true });
    const owner = await stat(directory);
    for (const [day, lines] of byDay) {
      // It holds what people said to the agent: readable for the owner only.
      const file = await open(join(directory, `sessions-${day}.jsonl.gz`), 'a', 0o600);
      try {
        // A service that shares the directory may run as root (process-watcher). The others must be able to append too.
        if (process.getuid?.() === 0 && (await file.stat()).uid !== owner.uid) {
          await file.chown(owner.uid, owner.gid);
        }
        await file.appendFile(await compress(lines.join('')));
        await file.sync();
      } finally {
        await file.close();
      }
    }
  };
}

const INSERT: Statement = {
  name: 'import_stream',
  text: `WITH locked AS (SELECT pg_advisory_xact_lock(hashtextextended($1, 0)))
  INSERT INTO angelia.events (stream_id, version, type, schema_version, event_id, recorded_at, data, meta, epoch)
  SELECT $1, e.version, e.type, e.schema_version, e.id, to_timestamp(e.at / 1000), e.data, e.meta, c.epoch
  FROM locked, angelia.cluster c,
    unnest($2::int[], $3::text[], $4::int[], $5::uuid[], $6::float8[], $7::jsonb[], $8::jsonb[])
      e(version, type, schema_version, id, at, data, meta)
  ON CONFLICT (stream_id, version) DO NOTHING
  RETURNING 1`,
};

/**
 * Brings the sessions of one file back into the log. Events that are there already stay as they are.
 * @throws UnreadableArchive; the sessions before that place are imported
 */
export async function importArchive(
  log: EventLog,
  path: string,
): Promise<{ sessions: number; events: number }> {
  let sessions = 0;
  let events = 0;
  let stream: ArchivedEvent[] = [];
  const store = async (): Promise<void> => {
    const first = stream[0];
    if (first === undefined) return;
    const byVersion = [...new Map(stream.map((line) => [line.version, line])).values()];
    byVersion.sort((a, b) => a.version - b.version);
    const gap = byVersion.findIndex((line, index) => line.version !== index + 1);
    if (gap >= 0) throw new UnreadableArchive(`${path}: version ${gap + 1} of ${first.stream_id} is missing`);
    const rows = await log.database.durable.query(INSERT, [
      first.stream_id,
      int4Array(byVersion.map((line) => line.version)),
      textArray(byVersion.map((line) => line.type)),
      int4Array(byVersion.map((line) => line.schema_version)),
      uuidArray(byVersion.map((line) => line.event_id)),
      float8Array(byVersion.map((line) => Date.parse(line.recorded_at))),
      jsonbArray(byVersion.map((line) => JSON.stringify(line.data))),
      jsonbArray(byVersion.map((line) => JSON.stringify(line.meta))),
    ]);
    if (rows.length > 0) sessions += 1;
    events += rows.length;
    stream = [];
  };
  let number = 0;
  try {
    for await (const text of linesOf(path)) {
      number += 1;
      const line = archivedEventSchema.parse(JSON.parse(text));
      if (line.stream_id !== stream[0]?.stream_id) await store();
      stream.push(line);
    }
  } catch (error) {
    if (error instanceof LogError) throw error;
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall !== undefined)
      throw new UnreadableArchive(`${path} cannot be read (${code})`, { cause: error });
    throw new UnreadableArchive(
      `${path}: line ${number} is not a line of an export, or the file is cut off`,
      {
        cause: error,
      },
    );
  }
  await store();
  return { sessions, events };
}

async function* linesOf(path: string): AsyncGenerator<string> {
  // An error in either is thrown to the reader.
  const unzipped = pipeline(createReadStream(path), createGunzip(), () => {}).setEncoding('utf8');
  let rest = '';
  for await (const chunk of unzipped) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  if (rest !== '') yield rest;
}

function toLine(event: RecordedEvent, withThoughts: boolean): ArchivedEvent {
  return {
    stream_id: event.streamId,
    version: event.version,
    type: event.type,
    schema_version: event.schemaVersion,
    event_id: event.eventId,
    recorded_at: new Date(event.recordedAt).toISOString(),
    data: (withThoughts ? event.data : withoutReasoning(event.type, event.data)) as ArchivedEvent['data'],
    meta: event.meta,
  };
}

import { randomUUID } from 'node:crypto';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { createTestDatabase, insertRaw, type RawRow } from '@angelia/event-log/testing';
import { newStreamId } from './new-stream-id.ts';

/** `url`: a Postgres with fsync on, whose login may create databases. Each figure gets a new database. */
export interface BenchTarget {
  readonly url: string;
}

const EVENTS = 24_000;
const EVENTS_PER_APPEND = 2;
/** At any time as many appends wait as one flush takes, as in a busy service. */
const CALLERS = 512;
const APPENDS_PER_FLUSH = 256;
const ROUNDS = 3;

interface Append {
  readonly streamId: string;
  readonly expectedVersion: number;
  readonly events: RawRow['event'][];
}

/** New and continued streams, with a payload like a webhook's rendered prompt. */
function someAppends(events: number): Append[] {
  const appends: Append[] = [];
  const text = 'A pull request was opened; review it. "Quoted", ünïcode, and a line\n'.repeat(6);
  for (let n = 0; n < events / EVENTS_PER_APPEND / 2; n += 1) {
    const streamId = newStreamId();
    for (const expectedVersion of [0, EVENTS_PER_APPEND]) {
      appends.push({
        streamId,
        expectedVersion,
        events: Array.from({ length: EVENTS_PER_APPEND }, (_, index) => ({
          eventId: randomUUID(),
          type: index === 0 ? 'session.created' : 'turn.requested',
          data: { route: 'bench', delivery_id: streamId, turn: 1, source: 'webhook', input: text },
          meta: {
            actor: 'bench',
            correlation: streamId,
            traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
          },
        })),
      });
    }
  }
  // First all new streams, then all continuations, so that no append waits for another one of its stream.
  return appends.sort((a, b) => a.expectedVersion - b.expectedVersion);
}

/** Appends through the log against a raw batched insert of equal rows, alternating, best of the rounds. */
export async function benchAppend({ url }: BenchTarget): Promise<{
  rawPerSecond: number;
  appendPerSecond: number;
  ratio: number;
}> {
  const database = await createTestDatabase({ server: url });
  const log = openEventLog({ url: database.url, instance: 'bench', holder: 'bench#1' });
  try {
    await log.status.check();
    await raw(log, someAppends(2_000));
    await throughLog(log, someAppends(2_000));
    const seconds = { raw: Number.POSITIVE_INFINITY, append: Number.POSITIVE_INFINITY };
    for (let round = 0; round < ROUNDS; round += 1) {
      seconds.raw = Math.min(seconds.raw, await raw(log, someAppends(EVENTS)));
      seconds.append = Math.min(seconds.append, await throughLog(log, someAppends(EVENTS)));
    }
    const rawPerSecond = EVENTS / seconds.raw;
    const appendPerSecond = EVENTS / seconds.append;
    return { rawPerSecond, appendPerSecond, ratio: appendPerSecond / rawPerSecond };
  } finally {
    await log.close();
    await database.drop();
  }
}

async function raw(log: EventLog, appends: readonly Append[]): Promise<number> {
  const start = performance.now();
  for (let at = 0; at < appends.length; at += APPENDS_PER_FLUSH) {
    const rows = appends
      .slice(at, at + APPENDS_PER_FLUSH)
      .flatMap(({ streamId, expectedVersion, events }) =>
        events.map((event, index) => ({ streamId, version: expectedVersion + 1 + index, event })),
      );
    await insertRaw(log, rows);
  }
  return (performance.now() - start) / 1000;
}

async function throughLog(log: EventLog, appends: readonly Append[]): Promise<number> {
  const start = performance.now();
  let next = 0;
  const caller = async () => {
    for (let append = appends[next++]; append; append = appends[next++]) {
      const result = await log.append({ streams: [append] });
      if (result.status !== 'appended') throw new Error(`an append of the bench ended as ${result.status}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return (performance.now() - start) / 1000;
}

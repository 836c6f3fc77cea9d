import { randomUUID } from 'node:crypto';
import { type EventLog, openEventLog, type ProjectSession } from '@angelia/event-log';
import { rebuildViews } from '@angelia/event-log/admin';
import { createTestDatabase, insertRaw, type RawRow } from '@angelia/event-log/testing';

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

/** Ordered by time, like the services' session ids (uuid v7). */
function newStreamId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

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

const SMALL = 10_000;
const LARGE = 1_000_000;
const SAMPLES = 400;
const EVENTS_PER_STREAM = 10;
/** As many as the small log has in total. */
const LIVE = 1_000;

export interface Cost {
  readonly smallMs: number;
  readonly largeMs: number;
  readonly ratio: number;
}

/**
 * Milliseconds per append, per fold of one stream, per page of the session list: at 10 thousand and 1 million events.
 * Both logs are filled first and then measured in turn, so that noise of the disk and of neighbours hits both.
 */
export async function benchCost({ url }: BenchTarget): Promise<{ append: Cost; fold: Cost; list: Cost }> {
  const small = await logOf(url, SMALL);
  const large = await logOf(url, LARGE);
  try {
    return {
      append: await compare(small.append, large.append),
      fold: await compare(small.fold, large.fold),
      list: await compare(small.list, large.list),
    };
  } finally {
    await small.close();
    await large.close();
  }
}

/** Medians, so that a checkpoint or an autovacuum does not distort the figure. */
async function compare(small: () => Promise<unknown>, large: () => Promise<unknown>): Promise<Cost> {
  const times = { small: [] as number[], large: [] as number[] };
  for (let n = 0; n < SAMPLES; n += 1) {
    times.small.push(await timed(small));
    times.large.push(await timed(large));
  }
  const median = (all: number[]) => all.sort((a, b) => a - b)[all.length >> 1] as number;
  const [smallMs, largeMs] = [median(times.small), median(times.large)];
  return { smallMs, largeMs, ratio: largeMs / smallMs };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A log with that many events in a new database, and the three operations to measure. */
async function logOf(url: string, events: number) {
  const database = await createTestDatabase({ server: url });
  const log = openEventLog({ url: database.url, instance: 'bench', holder: 'bench#1' });
  const streams = await grow(log, events);
  await rebuildViews({ url: database.url, project: benchProjection });
  // Appends go to the newest sessions, which are in flight. Folds read any session.
  const live = new Map(streams.slice(-LIVE).map((streamId) => [streamId, EVENTS_PER_STREAM]));
  const liveIds = [...live.keys()];
  const oneOf = (all: readonly string[]) => all[Math.floor(Math.random() * all.length)] as string;
  return {
    append: async () => {
      const streamId = oneOf(liveIds);
      const expectedVersion = live.get(streamId) ?? 0;
      live.set(streamId, expectedVersion + 1);
      const event = { eventId: randomUUID(), type: 'bench.appended', data: {}, meta: { actor: 'bench' } };
      const { status } = await log.append({ streams: [{ streamId, expectedVersion, events: [event] }] });
      if (status !== 'appended') throw new Error(`an append of the bench ended as ${status}`);
    },
    fold: () => log.streams.read(oneOf(streams)),
    list: () => log.lists.sessions({ limit: 50, route: 'r3' }),
    close: async () => {
      await log.close();
      await database.drop();
    },
  };
}

async function grow(log: EventLog, events: number): Promise<string[]> {
  const PER_STATEMENT = 100;
  const streams: string[] = [];
  while (streams.length * EVENTS_PER_STREAM < events) {
    const rows: RawRow[] = [];
    for (let n = 0; n < PER_STATEMENT; n += 1) {
      const streamId = newStreamId();
      streams.push(streamId);
      for (let version = 1; version <= EVENTS_PER_STREAM; version += 1) {
        const type = version === 1 ? 'session.created' : 'model.responded';
        const data = { route: `r${n % 7}`, text: 'x'.repeat(300) };
        const event = { eventId: randomUUID(), type, data, meta: { actor: 'bench' } };
        rows.push({ streamId, version, event });
      }
    }
    await insertRaw(log, rows);
  }
  return streams;
}

const benchProjection: ProjectSession = (previous, events) => {
  const at = events[0]?.recordedAt ?? 0;
  const route = (events[0]?.data as { route?: string } | undefined)?.route ?? '';
  const state = (previous as { route: string; createdAt: number } | null) ?? { route, createdAt: at };
  return {
    state,
    session: {
      route: state.route,
      status: 'ended',
      outcome: 'succeeded',
      agent: 'default',
      model: 'main',
      failure: null,
      title: 'a session',
      deliveryId: 'a delivery',
      tokens: 0,
      createdAt: state.createdAt,
      lastActivityAt: events.at(-1)?.recordedAt ?? at,
      endedAt: at,
      runDueAt: null,
      running: false,
      deliveryDueAt: null,
      processDueAt: null,
      settled: true,
    },
    deliveries: [],
    processes: [],
  };
};

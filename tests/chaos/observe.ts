import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ModelServer, Sink, TelegramStandIn } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import type { ViewsObserver } from '../e2e/views.ts';
import type { History, LoggedEvent, ModelCall, Received } from './history.ts';
import { keyOf } from './kinds.ts';

/** How the mark of a possible duplicate begins. Users read it, so it is stable. */
const MARK = '(possible duplicate) ';

export async function readEvents(observer: ViewsObserver): Promise<LoggedEvent[]> {
  const rows = await observer.query<{
    stream_id: string;
    version: number;
    type: string;
    recorded_at: Date;
    data: Record<string, unknown>;
    traceparent: string | null;
  }>(
    `SELECT stream_id, version, type, recorded_at, data, meta->>'traceparent' AS traceparent
     FROM angelia.events ORDER BY stream_id, version`,
  );
  return rows.map((row) => ({
    stream: row.stream_id,
    version: row.version,
    type: row.type,
    recordedAt: row.recorded_at.getTime(),
    data: row.data,
    traceparent: row.traceparent,
  }));
}

/** How many sessions are open or have something to deliver, from the log only. */
export async function unsettled(observer: ViewsObserver): Promise<number> {
  const [row] = await observer.query<{ count: number }>(
    `WITH ends AS (
       SELECT DISTINCT stream_id FROM angelia.events WHERE type = 'session.ended'
     ), settled AS (
       SELECT stream_id, (data->>'output')::int AS output FROM angelia.events
       WHERE type IN ('delivery.succeeded', 'delivery.dead', 'delivery.dropped')
     ), processes AS (
       SELECT stream_id, data->>'process_id' AS process FROM angelia.events
       WHERE type IN ('process.exited', 'process.lost')
     )
     SELECT count(DISTINCT stream_id)::int AS count FROM angelia.events AS event
     WHERE type = 'session.created' AND stream_id NOT IN (SELECT stream_id FROM ends)
        OR type IN ('session.interim-status', 'clarification.requested', 'session.final-response')
           AND data->>'silent' IS DISTINCT FROM 'true'
           AND NOT EXISTS (SELECT FROM settled WHERE settled.stream_id = event.stream_id AND output = version)
        OR type = 'process.started'
           AND NOT EXISTS (SELECT FROM processes WHERE processes.stream_id = event.stream_id
                                                   AND process = data->>'process_id')`,
  );
  return row?.count ?? 0;
}

/** The views after they have caught up with the log, or as they are if they do not. */
export async function readViews(observer: ViewsObserver, deadlineMs: number): Promise<History['views']> {
  const folded = await observer.folded();
  const end = performance.now() + deadlineMs;
  for (;;) {
    const actual = await observer.views();
    if (isDeepStrictEqual(actual, folded) || performance.now() > end) return { actual, folded };
    await pause(500);
  }
}

export async function readDeadLetters(observer: ViewsObserver): Promise<string[]> {
  const rows = await observer.query<{ stream_id: string; handler: string; reason: string }>(
    'SELECT stream_id, handler, reason FROM angelia.dead_letters',
  );
  return rows.map(({ stream_id, handler, reason }) => `${stream_id}: ${handler}: ${reason}`);
}

/** A file per effect, with a line for each time that it happened. */
export function readEffects(directory: string): Map<string, number> {
  return new Map(
    readdirSync(directory).map((name) => [
      name,
      readFileSync(join(directory, name), 'utf8').trim().split('\n').length,
    ]),
  );
}

export function modelCalls({ requests }: ModelServer): ModelCall[] {
  return requests.map((request) => ({
    key: keyOf(request),
    from: wallClock(request.at),
    until: request.endedAt === null ? null : wallClock(request.endedAt),
  }));
}

export function receivedBy(sink: Sink, telegram: TelegramStandIn): Received[] {
  return [
    ...sink.taken().map(({ at, path, payload }) => ({
      at: wallClock(at),
      target: 'http',
      place: path,
      session: payload.session_id,
      version: payload.version,
      text: payload.text,
      marked: payload.possible_duplicate,
    })),
    ...telegram.messages.map(({ at, chatId, shown }) => ({
      at: wallClock(at),
      target: 'telegram',
      place: chatId,
      session: null,
      version: null,
      text: shown.startsWith(MARK) ? shown.slice(MARK.length) : shown,
      marked: shown.startsWith(MARK),
    })),
  ];
}

const wallClock = (at: number): number => performance.timeOrigin + at;

import { randomUUID } from 'node:crypto';
import { Agenda } from '@angelia/event-log/leading';
import { readForRelay } from '@angelia/event-log/testing';
import { newStreamId } from '../new-stream-id.ts';
import { RARE_ROUTE } from './fill.ts';
import type { LongLog } from './long-log.ts';

type TailCursor = Awaited<ReturnType<LongLog['log']['tail']['end']>>;
export type Operations = Readonly<Record<string, () => Promise<unknown>>>;

/** A page of a list, as the API asks for it. */
const LIMIT = 50;
/** Events behind the end of the tail that a reader finds at once. */
const BEHIND = 500;
const FOLDED = 20_000;
/** As many as a runner asks for. */
const PICKED = 64;
const LEAD_EPOCH = 1;

/** What services do all the time, one call each. */
export async function operationsOf(long: LongLog): Promise<Operations> {
  const { log, query } = long;
  const folded = await column<string>(
    long,
    `SELECT session_id FROM angelia.sessions WHERE settled ORDER BY random() LIMIT ${FOLDED}`,
  );
  const heads = await query<{ streamId: string; expectedVersion: number }>(
    `SELECT e.stream_id AS "streamId", max(e.version) AS "expectedVersion" FROM angelia.events e
     WHERE e.stream_id = ANY (ARRAY(SELECT session_id FROM angelia.sessions WHERE NOT settled)) GROUP BY 1`,
  );
  const [behind] = await query<{ epoch: number; tx: string; position: number }>(
    `SELECT epoch, tx::text, position::float8 FROM angelia.events
     ORDER BY epoch DESC, tx DESC, position DESC OFFSET ${BEHIND} LIMIT 1`,
  );
  if (!behind) throw new Error('the log is shorter than a page of its tail');
  const { lists } = log;
  let end: TailCursor | undefined;
  return {
    'append to a session': async () => {
      const stream = oneOf(heads);
      const events = [someEvent('bench.appended', 20)];
      await appended(long, { streams: [{ ...stream, events }] });
      stream.expectedVersion += 1;
    },
    'append of a new session under its key': () =>
      appended(long, {
        streams: [
          {
            streamId: newStreamId(),
            expectedVersion: 0,
            events: [someEvent('bench.created', 400), someEvent('bench.requested', 1_000)],
          },
        ],
        key: { key: `webhook:route-1:${randomUUID()}`, keepSeconds: 604_800 },
      }),
    'fold of a session': () => log.streams.read(oneOf(folded)),
    'list of sessions': () => lists.sessions({ limit: LIMIT }),
    'list of sessions, by route': () => lists.sessions({ limit: LIMIT, route: 'route-3' }),
    'list of sessions, by a rare route': () => lists.sessions({ limit: LIMIT, route: RARE_ROUTE.name }),
    'list of sessions, ended': () => lists.sessions({ limit: LIMIT, status: 'ended' }),
    'list of sessions, queued': () => lists.sessions({ limit: LIMIT, status: 'queued' }),
    'list of deliveries': () => lists.deliveries({ limit: LIMIT }),
    'list of deliveries, dead': () => lists.deliveries({ limit: LIMIT, status: 'dead' }),
    'list of deliveries, by a target without any': () =>
      lists.deliveries({ limit: LIMIT, target: 'telegram' }),
    'projection: a page of the tail': () => log.tail.read(behind, BEHIND, { data: true }),
    'projection: nothing new': async () => {
      end ??= await log.tail.end();
      return log.tail.read(end, BEHIND, { data: true });
    },
    'relay: a page of the tail': () => readForRelay(log.database.relaxed, behind, BEHIND),
  };
}

/** What is asked of the open work. It depends on how many rows of the views are dead (dead-rows.ts). */
export async function openWorkOf({ log, query }: LongLog): Promise<Operations> {
  await query(
    `INSERT INTO angelia.leaders (name, holder, epoch, expires_at) VALUES ('agenda', 'bench#1', ${LEAD_EPOCH}, 'infinity')
     ON CONFLICT (name) DO UPDATE SET epoch = EXCLUDED.epoch, expires_at = EXCLUDED.expires_at`,
  );
  const agenda = new Agenda({
    log,
    leadEpoch: LEAD_EPOCH,
    signal: new AbortController().signal,
    sweepSeconds: 10,
    hint: async () => {},
  });
  return {
    'agenda: a pass': async () => {
      if (!(await agenda.pass())) throw new Error('the agenda of the bench does not lead');
    },
    'queue: a pick': () => log.queue.pick(PICKED),
    'counts of open work': () => log.status.openWork(),
  };
}

async function appended({ log }: LongLog, request: Parameters<LongLog['log']['append']>[0]): Promise<void> {
  const { status } = await log.append(request);
  if (status !== 'appended') throw new Error(`an append of the bench ended as ${status}`);
}

function someEvent(type: string, bytes: number) {
  return { eventId: randomUUID(), type, data: { text: 'x'.repeat(bytes) }, meta: { actor: 'bench' } };
}

function oneOf<T>(all: readonly T[]): T {
  return all[Math.floor(Math.random() * all.length)] as T;
}

async function column<T>({ query }: LongLog, text: string): Promise<T[]> {
  return (await query(text)).map((row) => Object.values(row)[0] as T);
}

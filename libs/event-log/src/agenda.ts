import type { Owner } from '@angelia/contracts';
import { pause } from './bell.ts';
import type { Lane, Statement } from './database.ts';
import type { EventLog } from './event-log.ts';
import { messageOf } from './postgres-errors.ts';

/** Publishes "look at these streams" to whoever owns that kind of work. */
export type HintOwner = (owner: Owner, streamIds: readonly string[]) => Promise<void>;

export interface AgendaOptions {
  readonly log: EventLog;
  readonly leadEpoch: number;
  readonly signal: AbortSignal;
  /** How long work may lie without progress before it is hinted again. */
  readonly sweepSeconds: number;
  readonly hint: HintOwner;
}

const PASS_MS = 1_000;
const PAGE = 500;
/** Rows per kind and pass. Where more are due, the next pass goes on behind them, so that none starves. */
const PAGES_PER_PASS = 4;
/** Not urgent: a key past its time counts as unknown anyway. */
const FORGET_MS = 60_000;
const FORGET_AT_ONCE = 5_000;
/** How old the last sign of life of a lost run is, is told by its lease: kept longer than work stays fresh. */
const KEEP_LEASES_DAYS = 7;

const STILL_LEADING: Statement = {
  name: 'agenda_still_leading',
  text: 'SELECT 1 FROM angelia.leaders WHERE epoch = $1 AND expires_at > now()',
};
const FORGET_KEYS: Statement = {
  name: 'forget_keys',
  // Asked again for each row: one that was given out anew while we waited for its lock stays.
  text: `DELETE FROM angelia.idempotency_keys WHERE expires_at < now() AND key = ANY (ARRAY(
           SELECT key FROM angelia.idempotency_keys WHERE expires_at < now() ORDER BY expires_at LIMIT ${FORGET_AT_ONCE}))`,
};
/** A run that was cancelled under its runner gives nothing back. */
const FORGET_LEASES: Statement = {
  name: 'forget_leases',
  text: `DELETE FROM angelia.leases WHERE expires_at < now() - interval '${KEEP_LEASES_DAYS} days' AND resource = ANY (ARRAY(
           SELECT resource FROM angelia.leases WHERE expires_at < now() - interval '${KEEP_LEASES_DAYS} days'
           LIMIT ${FORGET_AT_ONCE}))`,
};

/**
 * Due now, and either a timer (due later than the last thing that happened: nobody else will say so) or work that was
 * due at once and has made no progress for sweepSeconds (its hint was lost).
 */
function dueStatement(owner: Owner, column: string, condition: string): Statement {
  return {
    name: `agenda_due_${owner}`,
    text: `SELECT s.session_id, date_part('epoch', s.${column}) * 1000 FROM angelia.sessions s
           WHERE s.${column} IS NOT NULL ${condition} AND s.${column} <= now()
             AND (s.${column} > s.last_activity_at OR s.last_activity_at <= now() - make_interval(secs => $3))
             AND (s.${column}, s.session_id) > (to_timestamp($1::float8 / 1000), $2)
           ORDER BY s.${column}, s.session_id LIMIT ${PAGE}`,
  };
}

/** A run that is open although nobody holds it: its runner died. The grace covers views that are a moment behind. */
const ORPHANED: Statement = {
  name: 'agenda_orphaned',
  text: `SELECT s.session_id, 0 FROM angelia.sessions s
         WHERE s.running AND s.session_id > $2 AND $1::float8 IS NOT NULL
           AND s.last_activity_at <= now() - make_interval(secs => least(1, $3::float8))
           AND NOT EXISTS (
             SELECT FROM angelia.leases l WHERE l.resource = 'run:' || s.session_id AND l.expires_at > now())
         ORDER BY s.session_id LIMIT ${PAGE}`,
};

const KINDS: readonly { readonly owner: Owner; readonly statement: Statement }[] = [
  { owner: 'run', statement: dueStatement('run', 'run_due_at', 'AND NOT s.running') },
  { owner: 'run', statement: ORPHANED },
  { owner: 'delivery', statement: dueStatement('delivery', 'delivery_due_at', '') },
  { owner: 'process', statement: dueStatement('process', 'process_due_at', '') },
];

/**
 * Timers and sweep in one: every second, what is due and not under way is hinted to its owner. The same due time of the
 * same session is not hinted again before sweepSeconds. Ends when another leads; an outage only delays it.
 */
export async function runAgenda(options: AgendaOptions): Promise<void> {
  const { log, leadEpoch, signal } = options;
  const lane = log.database.relaxed;
  const memory = new HintMemory(options.sweepSeconds * 1_000);
  const places = KINDS.map(() => START);
  let forgottenAt = Number.NEGATIVE_INFINITY;
  let failing = false;

  while (!signal.aborted) {
    try {
      if ((await lane.query(STILL_LEADING, [leadEpoch])).length === 0) return;
      for (const [index, kind] of KINDS.entries()) {
        places[index] = await hintDue(lane, kind, places[index] ?? START, options, memory);
      }
      if (performance.now() - forgottenAt > FORGET_MS) {
        await lane.query(FORGET_KEYS, []);
        await lane.query(FORGET_LEASES, []);
        forgottenAt = performance.now();
      }
      failing = false;
    } catch (error) {
      if (!failing) log.logger.warn({ err: messageOf(error) }, 'the agenda cannot go on: trying again');
      failing = true;
    }
    await pause(PASS_MS, signal);
  }
}

interface Place {
  readonly due: number;
  readonly sessionId: string;
}
const START: Place = { due: 0, sessionId: '' };

async function hintDue(
  lane: Lane,
  kind: (typeof KINDS)[number],
  from: Place,
  options: Pick<AgendaOptions, 'hint' | 'signal' | 'sweepSeconds'>,
  memory: HintMemory,
): Promise<Place> {
  let place = from;
  for (let page = 0; page < PAGES_PER_PASS && !options.signal.aborted; page += 1) {
    const rows = await lane.query(kind.statement, [place.due, place.sessionId, options.sweepSeconds]);
    const due = rows.map(([sessionId, at]) => ({ sessionId: sessionId as string, due: at as number }));
    const fresh = due.filter((one) => memory.isNew(kind.statement.name, one));
    if (fresh.length > 0) {
      await options.hint(
        kind.owner,
        fresh.map((one) => one.sessionId),
      );
      for (const one of fresh) memory.add(kind.statement.name, one);
    }
    const last = due.at(-1);
    if (last === undefined || due.length < PAGE) return START;
    place = last;
  }
  return place;
}

/** What was hinted lately, by due time: a new due time (the next retry) is new, however soon. */
class HintMemory {
  private readonly hinted = new Map<string, { due: number; at: number }>();
  private readonly keepMs: number;

  constructor(keepMs: number) {
    this.keepMs = keepMs;
  }

  isNew(kind: string, place: Place): boolean {
    const known = this.hinted.get(`${kind} ${place.sessionId}`);
    return known === undefined || known.due !== place.due || performance.now() - known.at >= this.keepMs;
  }

  /** In order of time, so that the old ones are at the front: bounded by what was hinted within sweepSeconds. */
  add(kind: string, place: Place): void {
    const now = performance.now();
    const name = `${kind} ${place.sessionId}`;
    this.hinted.delete(name);
    this.hinted.set(name, { due: place.due, at: now });
    for (const [old, { at }] of this.hinted) {
      if (now - at < this.keepMs) break;
      this.hinted.delete(old);
    }
  }
}

const UNSETTLED: Statement = {
  name: 'unsettled',
  text: `SELECT s.session_id, s.running OR coalesce(s.run_due_at <= now(), false), coalesce(s.delivery_due_at <= now(), false),
                coalesce(s.process_due_at <= now(), false)
         FROM angelia.sessions s WHERE NOT s.settled AND s.session_id > $1 ORDER BY s.session_id LIMIT ${PAGE}`,
};

/**
 * For a relay that finds the stream new or emptied (the-bus-is-disposable): whoever has work that is due gets a hint for
 * it at once, instead of when the sweep finds it. What is due later is the timers' business. Returns the sessions hinted.
 */
export async function hintAllUnsettled(
  options: Pick<AgendaOptions, 'log' | 'signal' | 'hint'>,
): Promise<number> {
  const lane = options.log.database.relaxed;
  let after = '';
  let hinted = 0;
  while (!options.signal.aborted) {
    const rows = await lane.query(UNSETTLED, [after]);
    for (const [column, owner] of [
      [1, 'run'],
      [2, 'delivery'],
      [3, 'process'],
    ] as const) {
      const ids = rows.filter((row) => row[column] === true).map((row) => row[0] as string);
      if (ids.length > 0) await options.hint(owner, ids);
    }
    hinted += rows.filter((row) => row[1] || row[2] || row[3]).length;
    if (rows.length < PAGE) break;
    after = rows.at(-1)?.[0] as string;
  }
  return hinted;
}

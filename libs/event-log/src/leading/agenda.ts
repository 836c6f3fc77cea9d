import type { Owner } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import type { Lane, Statement } from '../connection/database.ts';
import { messageOf } from '../connection/postgres-errors.ts';
import type { EventLog } from '../event-log.ts';

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
/** Long enough for somebody to come back from a holiday and read it. */
const KEEP_LETTERS_DAYS = 30;

/** `old`: which rows of the table have had their time. Asked again for each: one that is made anew meanwhile stays. */
function forgetStatement(table: string, key: string, by: string, old: string): Statement {
  return {
    name: `forget_${table}`,
    text: `WITH gone AS (
             DELETE FROM angelia.${table} t WHERE ${old} AND t.${key} = ANY (ARRAY(
               SELECT t.${key} FROM angelia.${table} t WHERE ${old} ORDER BY t.${by} LIMIT ${FORGET_AT_ONCE}))
             RETURNING 1)
           SELECT count(*)::int FROM gone`,
  };
}

const FORGETTING: readonly Statement[] = [
  forgetStatement('idempotency_keys', 'key', 'expires_at', 't.expires_at < now()'),
  // A run that was cancelled under its runner gives nothing back.
  forgetStatement(
    'leases',
    'resource',
    'expires_at',
    `t.expires_at < now() - interval '${KEEP_LEASES_DAYS} days'`,
  ),
  // A bucket is full again after a minute: one that nobody took from for so long says the same as none.
  forgetStatement('rate_limits', 'resource', 'as_of', `t.as_of < now() - interval '1 hour'`),
  // Of what is gone, or never was (a message that is no hint). Those of a session that is there go with it.
  forgetStatement(
    'dead_letters',
    'id',
    'id',
    `t.recorded_at < now() - interval '${KEEP_LETTERS_DAYS} days'
       AND NOT EXISTS (SELECT FROM angelia.events e WHERE e.stream_id = t.stream_id)`,
  ),
];

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

/** The row that says that this process still leads. */
const STILL_LEADING = -1;
/** A pass of a system with nothing much to do is one statement: the first page of every kind. */
const FIRST_PAGES: Statement = {
  name: 'agenda_first_pages',
  text: [
    `SELECT ${STILL_LEADING}, '', 0 FROM angelia.leaders WHERE epoch = $4 AND expires_at > now()`,
    ...KINDS.map(({ statement }, index) => `SELECT ${index}, due.* FROM (${statement.text}) due`),
  ].join(' UNION ALL '),
};

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
      const rows = await lane.query(FIRST_PAGES, [
        START.due,
        START.sessionId,
        options.sweepSeconds,
        leadEpoch,
      ]);
      if (!rows.some(([index]) => index === STILL_LEADING)) return;
      for (const [index, kind] of KINDS.entries()) {
        const from = places[index] ?? START;
        const first = rows.filter(([of]) => of === index).map(([, id, at]) => toPlace(id, at));
        if (from === START && first.length < PAGE) await hintFresh(kind, first, options, memory);
        else places[index] = await hintDue(lane, kind, from, options, memory);
      }
      // A pass that did not come to the end is followed by the next: else a busy system makes more than is forgotten.
      if (performance.now() - forgottenAt > FORGET_MS && (await forget(lane)))
        forgottenAt = performance.now();
      failing = false;
    } catch (error) {
      if (!failing) log.logger.warn({ err: messageOf(error) }, 'the agenda cannot go on: trying again');
      failing = true;
    }
    await pause(PASS_MS, signal);
  }
}

/** Whether nothing is left that had its time. */
async function forget(lane: Lane): Promise<boolean> {
  let all = true;
  for (const statement of FORGETTING) {
    if ((await lane.query(statement, []))[0]?.[0] === FORGET_AT_ONCE) all = false;
  }
  return all;
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
    const due = rows.map(([id, at]) => toPlace(id, at));
    await hintFresh(kind, due, options, memory);
    const last = due.at(-1);
    if (last === undefined || due.length < PAGE) return START;
    place = last;
  }
  return place;
}

const toPlace = (sessionId: unknown, due: unknown): Place => ({
  sessionId: sessionId as string,
  due: due as number,
});

async function hintFresh(
  { owner, statement }: (typeof KINDS)[number],
  due: readonly Place[],
  { hint }: Pick<AgendaOptions, 'hint'>,
  memory: HintMemory,
): Promise<void> {
  const fresh = due.filter((one) => memory.isNew(statement.name, one));
  if (fresh.length === 0) return;
  await hint(
    owner,
    fresh.map((one) => one.sessionId),
  );
  for (const one of fresh) memory.add(statement.name, one);
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

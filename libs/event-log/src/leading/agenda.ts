import type { Owner } from '@angelia/contracts';
import { pause, untilTick } from '@angelia/waiting';
import { sql } from 'kysely';
import { messageOf } from '../connection/postgres-errors.ts';
import { milliseconds, type PreparedQuery, prepare, queries } from '../connection/query-builder.ts';
import type { EventLog } from '../event-log.ts';
import { forgetExpired } from './forget-expired.ts';
import type { HintOwner } from './rehint.ts';

interface AgendaOptions {
  readonly log: EventLog;
  readonly leadEpoch: number;
  readonly signal: AbortSignal;
  /** How long work may make no progress before it is hinted again. */
  readonly sweepSeconds: number;
  readonly hint: HintOwner;
}

const PASS_MS = 1_000;
const PAGE = 500;
/** Per kind. If more is due, the next pass goes on behind it, so that nothing starves. */
const PAGES_PER_PASS = 4;
/** Not urgent: an expired key counts as unknown anyway. */
const FORGET_MS = 60_000;

/** Where a page of due work ended. */
interface DueCursor {
  readonly due: number;
  readonly sessionId: string;
}
const START: DueCursor = { due: 0, sessionId: '' };

interface PageParameters extends DueCursor {
  readonly sweepSeconds: number;
}
interface DueSession {
  readonly session_id: string;
  readonly due: number;
}

/**
 * Work that is due now, and is either a timer (due later than the last event: nobody else reports it) or has made no
 * progress for sweepSeconds (its hint was lost).
 */
function dueSessions(
  column: 'run_due_at' | 'delivery_due_at' | 'process_due_at',
  { due, sessionId, sweepSeconds }: PageParameters,
) {
  const dueAt = `s.${column}` as const;
  return queries
    .selectFrom('angelia.sessions as s')
    .select(['s.session_id', milliseconds(dueAt).as('due')])
    .where(dueAt, 'is not', null)
    .where(dueAt, '<=', sql<Date>`now()`)
    .where((where) =>
      where.or([
        where(dueAt, '>', where.ref('s.last_activity_at')),
        where('s.last_activity_at', '<=', sql<Date>`now() - make_interval(secs => ${sweepSeconds})`),
      ]),
    )
    .where(
      sql<boolean>`(${sql.ref(dueAt)}, s.session_id) > (to_timestamp(${due}::float8 / 1000), ${sessionId})`,
    )
    .orderBy(dueAt)
    .orderBy('s.session_id')
    .limit(sql.lit(PAGE));
}

/** Queued runs and timers of runs. */
const dueRuns = (page: PageParameters) =>
  dueSessions('run_due_at', page).where((where) => where.not('s.running'));

/** Runs that are open although nobody holds them: their runner died. The delay covers views that are a moment behind. */
const orphanedRuns = ({ sessionId, sweepSeconds }: PageParameters) =>
  queries
    .selectFrom('angelia.sessions as s')
    .select(['s.session_id', sql<number>`0::float8`.as('due')])
    .where((where) => where.ref('s.running'))
    .where('s.session_id', '>', sessionId)
    .where(
      's.last_activity_at',
      '<=',
      sql<Date>`now() - make_interval(secs => least(1, ${sweepSeconds}::float8))`,
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('angelia.leases as l')
            .select('l.resource')
            .where('l.resource', '=', sql<string>`'run:' || s.session_id`)
            .where('l.expires_at', '>', sql<Date>`now()`),
        ),
      ),
    )
    .orderBy('s.session_id')
    .limit(sql.lit(PAGE));

interface Kind {
  readonly owner: Owner;
  readonly sessions: (page: PageParameters) => ReturnType<typeof dueRuns> | ReturnType<typeof orphanedRuns>;
  readonly page: PreparedQuery<PageParameters, DueSession>;
}

function kind(name: string, owner: Owner, sessions: Kind['sessions']): Kind {
  return { owner, sessions, page: prepare(name, sessions) };
}

const KINDS: readonly Kind[] = [
  kind('agenda_due_run', 'run', dueRuns),
  kind('agenda_orphaned', 'run', orphanedRuns),
  kind('agenda_due_delivery', 'delivery', (page) => dueSessions('delivery_due_at', page)),
  kind('agenda_due_process', 'process', (page) => dueSessions('process_due_at', page)),
];

/** The `kind` of the row that says that this process still leads. */
const STILL_LEADING = -1;
/** The first page of every kind in one statement. A pass of a system with little to do needs no other. */
const FIRST_PAGES = prepare('agenda_first_pages', (given: PageParameters & { leadEpoch: number }) =>
  KINDS.map(({ sessions }, index) =>
    queries
      .selectFrom(sessions(given).as('due'))
      .select([sql<number>`${sql.lit(index)}::int`.as('kind'), 'due.session_id', 'due.due']),
  ).reduce(
    (all, page) => all.unionAll(page),
    queries
      .selectFrom('angelia.leaders')
      .select([
        sql<number>`${sql.lit(STILL_LEADING)}::int`.as('kind'),
        sql<string>`''`.as('session_id'),
        sql<number>`0::float8`.as('due'),
      ])
      .where('epoch', '=', given.leadEpoch)
      .where('expires_at', '>', sql<Date>`now()`),
  ),
);

/**
 * Timers and sweep in one. Every second it hints what is due and makes no progress to its owner. It does not hint the same
 * due time of the same session again within sweepSeconds. Ends when another process leads. An outage only delays it.
 */
export async function runAgenda(options: AgendaOptions): Promise<void> {
  const { log, signal } = options;
  const agenda = new Agenda(options);
  let failing = false;
  while (!signal.aborted) {
    try {
      if (!(await agenda.pass())) return;
      failing = false;
    } catch (error) {
      if (!failing) log.logger.warn({ err: messageOf(error) }, 'agenda failed; will try again');
      failing = true;
    }
    await pause(untilTick(PASS_MS), signal);
  }
}

/** What the passes of one leader remember. */
export class Agenda {
  readonly #options: AgendaOptions;
  readonly #recent: RecentHints;
  readonly #cursors = KINDS.map(() => START);
  #forgottenAt = Number.NEGATIVE_INFINITY;

  constructor(options: AgendaOptions) {
    this.#options = options;
    this.#recent = new RecentHints(options.sweepSeconds * 1_000);
  }

  /** False: another process leads. */
  async pass(): Promise<boolean> {
    const { log, leadEpoch, sweepSeconds } = this.#options;
    const pool = log.database.relaxed;
    const rows = await pool.runPrepared(FIRST_PAGES, { ...START, sweepSeconds, leadEpoch });
    if (!rows.some((row) => row.kind === STILL_LEADING)) return false;
    for (const [index, kind] of KINDS.entries()) {
      const from = this.#cursors[index] ?? START;
      const first = rows.filter((row) => row.kind === index).map(toCursor);
      if (from === START && first.length < PAGE) await hintNew(kind, first, this.#options, this.#recent);
      else this.#cursors[index] = await hintPages(kind, from, this.#options, this.#recent);
    }
    // If rows are left, the next pass goes on at once. Otherwise a busy system could add more than is forgotten.
    if (performance.now() - this.#forgottenAt > FORGET_MS && (await forgetExpired(pool)))
      this.#forgottenAt = performance.now();
    return true;
  }
}

/** Returns where the next pass goes on. */
async function hintPages(
  kind: Kind,
  from: DueCursor,
  options: AgendaOptions,
  recent: RecentHints,
): Promise<DueCursor> {
  const { log, signal, sweepSeconds } = options;
  const pool = log.database.relaxed;
  let cursor = from;
  for (let page = 0; page < PAGES_PER_PASS && !signal.aborted; page += 1) {
    const due = (await pool.runPrepared(kind.page, { ...cursor, sweepSeconds })).map(toCursor);
    await hintNew(kind, due, options, recent);
    const last = due.at(-1);
    if (last === undefined || due.length < PAGE) return START;
    cursor = last;
  }
  return cursor;
}

const toCursor = ({ session_id, due }: DueSession): DueCursor => ({ sessionId: session_id, due });

async function hintNew(
  { owner, page }: Kind,
  due: readonly DueCursor[],
  { hint }: AgendaOptions,
  recent: RecentHints,
): Promise<void> {
  const unhinted = due.filter((one) => recent.isNew(page.name, one));
  if (unhinted.length === 0) return;
  await hint(
    owner,
    unhinted.map((one) => one.sessionId),
  );
  for (const one of unhinted) recent.add(page.name, one);
}

/** What was hinted lately, with its due time. A new due time (the next retry) is new, however soon it is. */
class RecentHints {
  readonly #hinted = new Map<string, { due: number; at: number }>();
  readonly #keepMs: number;

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  isNew(kind: string, cursor: DueCursor): boolean {
    const known = this.#hinted.get(`${kind} ${cursor.sessionId}`);
    return known === undefined || known.due !== cursor.due || performance.now() - known.at >= this.#keepMs;
  }

  /** In order of time, with the oldest in front. Bounded by what is hinted within sweepSeconds. */
  add(kind: string, cursor: DueCursor): void {
    const now = performance.now();
    const name = `${kind} ${cursor.sessionId}`;
    this.#hinted.delete(name);
    this.#hinted.set(name, { due: cursor.due, at: now });
    for (const [old, { at }] of this.#hinted) {
      if (now - at < this.#keepMs) break;
      this.#hinted.delete(old);
    }
  }
}

import { pause, untilTick } from '@angelia/waiting';
import { toStorable } from '../append/storable.ts';
import type { ConnectionPool, Row, Statement } from '../connection/connection-pool.ts';
import { messageOf } from '../connection/postgres-errors.ts';
import type { EventLog } from '../event-log.ts';

interface LeadOptions {
  readonly log: EventLog;
  readonly name: string;
  readonly holder: string;
  /** How long the lead lasts after its last renewal. */
  readonly seconds: number;
  /** Runs while this process leads. Must return soon after the signal. If it throws, the error is logged and the lead given back. */
  readonly onLead: (epoch: number, signal: AbortSignal) => Promise<void>;
  /** Lets a service that is better placed to lead try first. */
  readonly delayFirstTryMs?: number;
}

export interface Leading {
  isLeading(): boolean;
  /** Aborts the work, waits for it, and gives the lead back so that another process takes it at once. */
  stop(): Promise<void>;
}

const RENEW_MS = 1_000;
/**
 * A follower asks again when the lead would expire, and at least this often, for a leader that gave it back. Every second
 * was half of what an idle runner did.
 */
const FOLLOW_MS = 2_000;
/** The work is aborted this long before the lead can expire. For short leads, as in tests, a fifth of them. */
const MARGIN_MS = 1_000;
const MARGIN_SHARE = 0.2;

/** A plain read: processes that do not lead ask all the time, and must not take a transaction id for it. */
const ARE_TAKEN: Statement = {
  name: 'leads_are_taken',
  text: `SELECT w.n, (extract(epoch FROM l.expires_at - clock_timestamp()) * 1000)::float8
         FROM jsonb_to_recordset($1::jsonb) AS w(n int, name text, holder text, replaces boolean)
         JOIN angelia.leaders l ON l.name = w.name AND l.expires_at > clock_timestamp()
         WHERE NOT (w.replaces AND l.holder <> w.holder
                    AND regexp_replace(l.holder, '#[^#]*$', '') = regexp_replace(w.holder, '#[^#]*$', ''))`,
};
const TAKE: Statement = {
  name: 'lead_take',
  text: `INSERT INTO angelia.leaders AS l (name, holder, epoch, expires_at)
         VALUES ($1, $2, nextval('angelia.lead_epochs'), clock_timestamp() + make_interval(secs => $4))
         ON CONFLICT (name) DO UPDATE
         SET holder = EXCLUDED.holder, epoch = nextval('angelia.lead_epochs'), expires_at = EXCLUDED.expires_at, note = NULL
         WHERE l.expires_at <= clock_timestamp()
            OR ($3 AND l.holder <> $2 AND regexp_replace(l.holder, '#[^#]*$', '') = regexp_replace($2, '#[^#]*$', ''))
         RETURNING epoch`,
};
/** Does not renew a lead that was given back: a renewal that was under way when its process stopped may arrive after that. */
const RENEW: Statement = {
  name: 'leads_renew',
  text: `UPDATE angelia.leaders l SET expires_at = clock_timestamp() + make_interval(secs => w.seconds)
         FROM jsonb_to_recordset($1::jsonb) AS w(n int, name text, epoch bigint, seconds float8)
         WHERE l.name = w.name AND l.epoch = w.epoch AND l.expires_at > '-infinity' RETURNING w.n`,
};
const RELEASE: Statement = {
  name: 'lead_release',
  text: `UPDATE angelia.leaders SET expires_at = '-infinity' WHERE name = $1 AND epoch = $2`,
};
const NOTE: Statement = {
  name: 'lead_note',
  text: `UPDATE angelia.leaders SET note = $3::jsonb WHERE name = $1 AND epoch = $2`,
};

/** The leads of one process ask at the same moments (untilTick). Questions within this time go into one statement. */
const GATHER_MS = 10;

/** Questions to Postgres, several in one statement. */
class Questions<Question extends object> {
  readonly #pool: ConnectionPool;
  /** Returns the number (`n`) of each question whose answer is yes, and what there is to say about it. */
  readonly #statement: Statement;
  #gathered: Question[] = [];
  #answered: Promise<readonly Row[]> | null = null;

  constructor(pool: ConnectionPool, statement: Statement) {
    this.#pool = pool;
    this.#statement = statement;
  }

  /** Null: no. */
  async ask(question: Question): Promise<Row | null> {
    const n = this.#gathered.push(question) - 1;
    this.#answered ??= this.#answer();
    return (await this.#answered).find((row) => row[0] === n) ?? null;
  }

  async #answer(): Promise<readonly Row[]> {
    await pause(GATHER_MS);
    const questions = this.#gathered.map((question, n) => ({ n, ...question }));
    this.#gathered = [];
    this.#answered = null;
    return this.#pool.query(this.#statement, [JSON.stringify(questions)]);
  }
}

/** What the leader says about its work, for the operator (`readChats` of ../admin). Changes nothing once another leads. */
export async function noteLead(
  log: EventLog,
  lead: { readonly name: string; readonly epoch: number },
  note: ConnectionNote,
): Promise<void> {
  // A platform's words may be cut within a character, which jsonb refuses.
  await log.database.relaxed.query(NOTE, [lead.name, lead.epoch, JSON.stringify(toStorable(note))]);
}

/** Of the connection of a chat. `error`: why the last try failed; null: it did not. */
export interface ConnectionNote {
  readonly connected: boolean;
  readonly error: string | null;
}

interface LeadQuestions {
  readonly taken: Questions<{ name: string; holder: string; replaces: boolean }>;
  readonly renewed: Questions<{ name: string; epoch: number; seconds: number }>;
}
const questionsOf = new WeakMap<ConnectionPool, LeadQuestions>();

function questionsTo(pool: ConnectionPool): LeadQuestions {
  const known = questionsOf.get(pool);
  if (known) return known;
  const made: LeadQuestions = {
    taken: new Questions(pool, ARE_TAKEN),
    renewed: new Questions(pool, RENEW),
  };
  questionsOf.set(pool, made);
  return made;
}

/**
 * following -> the lead is free or expired: take it, with the next epoch -> leading -> renewed every second, until
 *   stopped: abort the work, give the lead back;
 *   another process has it, or it was not renewed in time by our own monotonic clock (cut off, frozen): abort the work
 *   before the lead expires -> following.
 * A frozen process cannot abort in time. Its writes carry the old epoch and change nothing (tail/checkpoint.ts).
 */
export function lead(options: LeadOptions): Leading {
  const { log, name, holder, seconds } = options;
  const pool = log.database.relaxed;
  const { taken, renewed } = questionsTo(pool);
  const leadMs = seconds * 1_000 - Math.min(MARGIN_MS, seconds * 1_000 * MARGIN_SHARE);
  const renewMs = Math.min(RENEW_MS, leadMs / 4);
  const followMs = Math.min(FOLLOW_MS, seconds * 500);
  const stopping = new AbortController();
  let leading = false;
  // Only at the start: it does not wait for a dead predecessor with the same stable name.
  let replacesPredecessor = true;

  async function follow(): Promise<void> {
    await pause(options.delayFirstTryMs ?? 0, stopping.signal);
    while (!stopping.signal.aborted) {
      const askedAt = performance.now();
      const answer = await take().catch((error: unknown) => {
        log.logger.warn({ lead: name, err: messageOf(error) }, 'asking for the lead failed; will try again');
        return null;
      });
      if (answer !== null && 'epoch' in answer) {
        if (stopping.signal.aborted) await release(answer.epoch);
        else await serve(answer.epoch, askedAt);
      }
      const expiresInMs = answer !== null && 'expiresInMs' in answer ? answer.expiresInMs : RENEW_MS;
      await pause(Math.min(untilTick(followMs), expiresInMs), stopping.signal);
    }
  }

  /** Null: another process was faster. */
  async function take(): Promise<{ epoch: number } | { expiresInMs: number } | null> {
    const held = await taken.ask({ name, holder, replaces: replacesPredecessor });
    if (held !== null) {
      replacesPredecessor = false;
      return { expiresInMs: held[1] as number };
    }
    if (stopping.signal.aborted) return null;
    // Durable, unlike renewals: if a crash of Postgres lost it, the same epoch would be given out again.
    const row = (await log.database.durable.query(TAKE, [name, holder, replacesPredecessor, seconds]))[0];
    replacesPredecessor = false;
    return row ? { epoch: row[0] as number } : null;
  }

  async function serve(epoch: number, askedAt: number): Promise<void> {
    const work = new AbortController();
    const abort = () => work.abort();
    stopping.signal.addEventListener('abort', abort, { once: true });
    leading = true;
    log.logger.info({ lead: name, epoch }, 'leading');
    const job = (async () => options.onLead(epoch, work.signal))()
      .catch((error: unknown) =>
        log.logger.error({ lead: name, epoch, err: messageOf(error) }, 'led work failed'),
      )
      .finally(abort);
    await keep(epoch, askedAt + leadMs, work);
    leading = false;
    await job;
    stopping.signal.removeEventListener('abort', abort);
    await release(epoch);
    log.logger.info({ lead: name, epoch }, 'no longer leading');
  }

  async function release(epoch: number): Promise<void> {
    await pool.query(RELEASE, [name, epoch]).catch(() => {}); // It expires by itself.
  }

  /** Returns when this process no longer leads. The work is aborted then. */
  async function keep(epoch: number, firstDeadline: number, work: AbortController): Promise<void> {
    let deadline = firstDeadline;
    while (!work.signal.aborted) {
      await pause(Math.min(untilTick(renewMs), Math.max(0, deadline - performance.now())), work.signal);
      const askedAt = performance.now();
      if (work.signal.aborted || askedAt >= deadline) break;
      const answer = await Promise.race([
        renewed.ask({ name, epoch, seconds }).then(
          (still) => (still === null ? 'replaced' : 'renewed'),
          () => 'unknown',
        ),
        pause(deadline - askedAt, work.signal).then(() => 'unknown'),
      ]);
      if (answer === 'replaced' || performance.now() >= deadline) break;
      if (answer === 'renewed') deadline = askedAt + leadMs;
    }
    work.abort();
  }

  const followed = follow();
  return {
    isLeading: () => leading,
    stop: async () => {
      stopping.abort();
      await followed;
    },
  };
}

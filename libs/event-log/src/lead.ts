import { pause } from './bell.ts';
import type { Statement } from './database.ts';
import type { EventLog } from './event-log.ts';
import { messageOf } from './postgres-errors.ts';

export interface LeadOptions {
  readonly log: EventLog;
  readonly name: string;
  readonly holder: string;
  /** How long the lead outlives its last renewal. */
  readonly seconds: number;
  /** Runs while this process leads; must return soon after the signal. What it throws is logged, and the lead given back. */
  readonly onLead: (epoch: number, signal: AbortSignal) => Promise<void>;
  /** Lets another service, better placed to lead, try first. */
  readonly delayFirstTryMs?: number;
}

export interface Leading {
  isLeading(): boolean;
  /** Aborts the work, waits for it, gives the lead back so that another takes it at once. */
  stop(): Promise<void>;
}

const RENEW_MS = 1_000;
const RETRY_MS = 1_000;
/** The work is aborted this long before the lead could expire. A fifth of short leads, as tests use them. */
const MARGIN_MS = 1_000;
const MARGIN_SHARE = 0.2;

/** A plain read: those who do not lead ask every second, and must not take a transaction id for it. */
const IS_TAKEN: Statement = {
  name: 'lead_is_taken',
  text: `SELECT 1 FROM angelia.leaders WHERE name = $1 AND expires_at > clock_timestamp()
           AND NOT ($3 AND holder <> $2 AND regexp_replace(holder, '#[^#]*$', '') = regexp_replace($2, '#[^#]*$', ''))`,
};
const TAKE: Statement = {
  name: 'lead_take',
  text: `INSERT INTO angelia.leaders AS l (name, holder, epoch, expires_at)
         VALUES ($1, $2, nextval('angelia.lead_epochs'), clock_timestamp() + make_interval(secs => $4))
         ON CONFLICT (name) DO UPDATE
         SET holder = EXCLUDED.holder, epoch = nextval('angelia.lead_epochs'), expires_at = EXCLUDED.expires_at
         WHERE l.expires_at <= clock_timestamp()
            OR ($3 AND l.holder <> $2 AND regexp_replace(l.holder, '#[^#]*$', '') = regexp_replace($2, '#[^#]*$', ''))
         RETURNING epoch`,
};
const RENEW: Statement = {
  name: 'lead_renew',
  text: `UPDATE angelia.leaders SET expires_at = clock_timestamp() + make_interval(secs => $3)
         WHERE name = $1 AND epoch = $2 RETURNING 1`,
};
const RELEASE: Statement = {
  name: 'lead_release',
  text: `UPDATE angelia.leaders SET expires_at = '-infinity' WHERE name = $1 AND epoch = $2`,
};

/**
 * following -> the lead is free or expired: take it, with the next epoch -> leading -> renewed every second, until
 *   stopped: work aborted, lead given back;
 *   another has it, or it could not be renewed in time by our own monotonic clock (cut off, frozen): work aborted
 *   before the lead expires -> following.
 * A frozen process aborts nothing in time: its writes carry the old epoch and change nothing (checkpoints.ts).
 */
export function lead(options: LeadOptions): Leading {
  const { log, name, holder, seconds } = options;
  const lane = log.database.relaxed;
  const leadMs = seconds * 1_000 - Math.min(MARGIN_MS, seconds * 1_000 * MARGIN_SHARE);
  const renewMs = Math.min(RENEW_MS, leadMs / 4);
  const stopping = new AbortController();
  let leading = false;
  // Only when it starts: a dead predecessor of the same stable name is not waited for.
  let replacesPredecessor = true;

  async function follow(): Promise<void> {
    await pause(options.delayFirstTryMs ?? 0, stopping.signal);
    while (!stopping.signal.aborted) {
      const askedAt = performance.now();
      const epoch = await take().catch((error: unknown) => {
        log.logger.warn({ lead: name, err: messageOf(error) }, 'cannot ask for the lead');
        return null;
      });
      if (epoch !== null) await serve(epoch, askedAt);
      await pause(Math.min(RETRY_MS, seconds * 500), stopping.signal);
    }
  }

  async function take(): Promise<number | null> {
    if ((await lane.query(IS_TAKEN, [name, holder, replacesPredecessor])).length > 0) {
      replacesPredecessor = false;
      return null;
    }
    // Durable, unlike renewals: a crash of Postgres that forgot it would give the same epoch out again.
    const row = (await log.database.durable.query(TAKE, [name, holder, replacesPredecessor, seconds]))[0];
    replacesPredecessor = false;
    return row ? (row[0] as number) : null;
  }

  async function serve(epoch: number, askedAt: number): Promise<void> {
    const work = new AbortController();
    const abort = () => work.abort();
    stopping.signal.addEventListener('abort', abort, { once: true });
    if (stopping.signal.aborted) abort();
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
    await lane.query(RELEASE, [name, epoch]).catch(() => {}); // It expires by itself.
    log.logger.info({ lead: name, epoch }, 'no longer leading');
  }

  /** Returns, with the work aborted, when this process leads no more. */
  async function keep(epoch: number, firstDeadline: number, work: AbortController): Promise<void> {
    let deadline = firstDeadline;
    while (!work.signal.aborted) {
      await pause(Math.min(renewMs, Math.max(0, deadline - performance.now())), work.signal);
      const askedAt = performance.now();
      if (work.signal.aborted || askedAt >= deadline) break;
      const answer = await Promise.race([
        lane.query(RENEW, [name, epoch, seconds]).then(
          (rows) => (rows.length > 0 ? 'renewed' : 'replaced'),
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

import type { Owner } from '@angelia/contracts';
import { type Expression, type SqlBool, sql } from 'kysely';
import { prepare, queries } from '../connection/query-builder.ts';
import type { EventLog } from '../event-log.ts';

/** Publishes "look at these streams" to the service that owns this kind of work. */
export type HintOwner = (owner: Owner, streamIds: readonly string[]) => Promise<void>;

interface RehintOptions {
  readonly log: EventLog;
  readonly signal: AbortSignal;
  readonly hint: HintOwner;
}

const PAGE = 500;
const OWNERS = ['run', 'delivery', 'process'] as const satisfies readonly Owner[];

const isDue = (column: string): Expression<SqlBool> => sql`coalesce(${sql.ref(column)} <= now(), false)`;

const UNSETTLED = prepare('unsettled', (given: { after: string }) =>
  queries
    .selectFrom('angelia.sessions as s')
    .select([
      's.session_id',
      sql<boolean>`s.running OR ${isDue('s.run_due_at')}`.as('run'),
      sql<boolean>`${isDue('s.delivery_due_at')}`.as('delivery'),
      sql<boolean>`${isDue('s.process_due_at')}`.as('process'),
    ])
    .where((where) => where.not('s.settled'))
    .where('s.session_id', '>', given.after)
    .orderBy('s.session_id')
    .limit(sql.lit(PAGE)),
);

/**
 * For a relay that finds the stream new or emptied (the-bus-is-disposable). Every owner with work that is due gets a hint
 * at once, and does not wait for the sweep. Work that is due later is left to the timers. Returns how many sessions it hinted.
 */
export async function hintAllUnsettled({ log, signal, hint }: RehintOptions): Promise<number> {
  let after = '';
  let hinted = 0;
  while (!signal.aborted) {
    const rows = await log.database.relaxed.runPrepared(UNSETTLED, { after });
    for (const owner of OWNERS) {
      const ids = rows.filter((row) => row[owner]).map((row) => row.session_id);
      if (ids.length > 0) await hint(owner, ids);
    }
    hinted += rows.filter((row) => OWNERS.some((owner) => row[owner])).length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) break;
    after = last.session_id;
  }
  return hinted;
}

import { BatchReader } from '../connection/batch-reader.ts';
import { textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';

/** Who works on something, and until when. Not history: it may be lost or wrong without harm. */
interface Lease {
  readonly holder: string;
  readonly expiresAt: number;
  readonly renewedAt: number;
}

/** Compare with `now` of the same answer: only the database's clock counts. */
interface LeaseNow {
  readonly lease: Lease | null;
  readonly now: number;
}

const READ: Statement = {
  name: 'read_leases',
  text: `SELECT l.holder, date_part('epoch', l.expires_at) * 1000, date_part('epoch', l.renewed_at) * 1000,
                date_part('epoch', clock_timestamp()) * 1000
         FROM unnest($1::text[]) WITH ORDINALITY AS r(resource, n)
         LEFT JOIN LATERAL (SELECT * FROM angelia.leases l WHERE l.resource = r.resource LIMIT 1) l ON true
         ORDER BY r.n`,
};

/**
 * Renews only leases that have not expired: another process may just have judged an expired one, to take it over.
 * Rows are locked in the order of their names, as the append does, so that the two cannot deadlock.
 */
const RENEW: Statement = {
  name: 'renew_leases',
  text: `UPDATE angelia.leases l
         SET renewed_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => $3)
         FROM (SELECT r.resource FROM angelia.leases r
               WHERE r.resource = ANY ($1::text[]) AND r.holder = $2 AND r.expires_at > clock_timestamp()
               ORDER BY r.resource FOR UPDATE) mine
         WHERE l.resource = mine.resource
         RETURNING l.resource`,
};

/** Expires them and does not delete them: a lost run is judged by when its holder was last alive (no-phantom-turns). */
const FREE: Statement = {
  name: 'free_leases',
  text: `UPDATE angelia.leases l SET expires_at = clock_timestamp()
         FROM (SELECT r.resource FROM angelia.leases r
               WHERE r.instance = $1 AND r.holder <> $2 AND r.expires_at > clock_timestamp()
               ORDER BY r.resource FOR UPDATE) dead
         WHERE l.resource = dead.resource
         RETURNING l.resource`,
};

const LEASES_PER_QUERY = 256;

/** Leases are taken and given back with an append. This reads, renews and frees them. */
export class Leases {
  readonly #reader: BatchReader<string, LeaseNow>;
  readonly #write: ConnectionPool;

  constructor(pools: { readonly read: ConnectionPool; readonly write: ConnectionPool }) {
    this.#reader = new BatchReader(LEASES_PER_QUERY, (resources) => readLeases(pools.read, resources));
    this.#write = pools.write;
  }

  /** Many reads at the same time become one query. */
  read(resource: string): Promise<LeaseNow> {
    return this.#reader.read(resource);
  }

  /** One statement for all. Returns those that are still held. The others are lost: stop their work. */
  async renew(resources: readonly string[], holder: string, seconds: number): Promise<string[]> {
    if (resources.length === 0) return [];
    const rows = await this.#write.query(RENEW, [textArray(resources), holder, seconds]);
    return rows.map((row) => row[0] as string);
  }

  /** Frees what a dead predecessor with the same stable name held. Returns the freed resources. */
  async freeOf(instance: string, exceptHolder: string): Promise<string[]> {
    const rows = await this.#write.query(FREE, [instance, exceptHolder]);
    return rows.map((row) => row[0] as string);
  }
}

async function readLeases(pool: ConnectionPool, resources: readonly string[]): Promise<LeaseNow[]> {
  const rows = await pool.query(READ, [textArray(resources)]);
  return rows.map(([holder, expiresAt, renewedAt, now]) => ({
    lease:
      holder === null
        ? null
        : {
            holder: holder as string,
            expiresAt: Math.round(expiresAt as number),
            renewedAt: Math.round(renewedAt as number),
          },
    now: Math.round(now as number),
  }));
}

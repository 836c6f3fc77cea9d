import { BatchReader } from '../connection/batch-reader.ts';
import { textArray } from '../connection/binary-array.ts';
import type { Lane, Statement } from '../connection/database.ts';

/** Who is at work on something and until when. Not history: it may be lost or wrong without harm. */
export interface Lease {
  readonly holder: string;
  readonly expiresAt: number;
  readonly renewedAt: number;
}

/** Judge by `now` of the same answer: the database's clock is the only one that counts. */
export interface LeaseNow {
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
 * Only a lease that has not expired is renewed: one that expired may just have been judged so by whoever takes over.
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

/** Expired, not deleted: when its holder was last alive is what a lost run is judged by (no-phantom-turns). */
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

class LeaseReader extends BatchReader<string, LeaseNow> {
  constructor(lane: Lane) {
    super(LEASES_PER_QUERY, (resources) => readLeases(lane, resources));
  }
}

async function readLeases(lane: Lane, resources: readonly string[]): Promise<LeaseNow[]> {
  const rows = await lane.query(READ, [textArray(resources)]);
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

export class Leases {
  readonly #reader: LeaseReader;
  readonly #write: Lane;

  constructor(lanes: { readonly read: Lane; readonly write: Lane }) {
    this.#reader = new LeaseReader(lanes.read);
    this.#write = lanes.write;
  }

  /** Many asked at once are one query. */
  read(resource: string): Promise<LeaseNow> {
    return this.#reader.read(resource);
  }

  /** One statement for all; returns those that are still held. The others are lost: stop their work. */
  async renew(resources: readonly string[], holder: string, seconds: number): Promise<string[]> {
    if (resources.length === 0) return [];
    const rows = await this.#write.query(RENEW, [textArray(resources), holder, seconds]);
    return rows.map((row) => row[0] as string);
  }

  /** Frees what a dead predecessor of the same stable name held. Returns the freed resources. */
  async freeOf(instance: string, exceptHolder: string): Promise<string[]> {
    const rows = await this.#write.query(FREE, [instance, exceptHolder]);
    return rows.map((row) => row[0] as string);
  }
}

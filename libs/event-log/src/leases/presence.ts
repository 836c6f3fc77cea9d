import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';

/** A replica of a service that was seen lately. */
export interface SeenService {
  readonly service: string;
  readonly version: string;
  readonly instance: string;
  readonly seenAt: number;
  /** False: it is overdue. It was killed, frozen or cut off. */
  readonly alive: boolean;
}

/** Presence is a lease that nobody competes for. The name says what an operator wants to know. */
const PREFIX = 'service:';

const ANNOUNCE: Statement = {
  name: 'announce_service',
  text: `INSERT INTO angelia.leases AS l (resource, holder, renewed_at, expires_at)
         VALUES ($1, $2, clock_timestamp(), clock_timestamp() + make_interval(secs => $3))
         ON CONFLICT (resource) DO UPDATE
         SET holder = EXCLUDED.holder, renewed_at = EXCLUDED.renewed_at, expires_at = EXCLUDED.expires_at`,
};
/** Only its own: a successor under the same name may be there already. */
const WITHDRAW: Statement = {
  name: 'withdraw_service',
  text: 'DELETE FROM angelia.leases l WHERE l.resource = $1 AND l.holder = $2',
};
/** A replica that came back with another version has two rows: the later one counts. */
const SEEN: Statement = {
  name: 'seen_services',
  text: `SELECT DISTINCT ON (l.instance) l.resource, l.instance, date_part('epoch', l.renewed_at) * 1000,
           l.expires_at > clock_timestamp()
         FROM angelia.leases l
         WHERE l.resource >= '${PREFIX}' AND l.resource < 'service;'
           AND l.renewed_at > clock_timestamp() - make_interval(secs => $1)
         ORDER BY l.instance, l.renewed_at DESC`,
};

/** Which replicas of which services there are. Each says so itself, every few seconds. */
export class Presence {
  readonly #pool: ConnectionPool;
  readonly #holder: string;

  constructor(pool: ConnectionPool, holder: string) {
    this.#pool = pool;
    this.#holder = holder;
  }

  async announce(
    who: { service: string; version: string; instance: string },
    seconds: number,
  ): Promise<void> {
    await this.#pool.query(ANNOUNCE, [resourceOf(who), this.#holder, seconds]);
  }

  /** For a process that stops in order. */
  async withdraw(who: { service: string; version: string; instance: string }): Promise<void> {
    await this.#pool.query(WITHDRAW, [resourceOf(who), this.#holder]);
  }

  /** By instance. */
  async seen(withinSeconds: number): Promise<SeenService[]> {
    return (await this.#pool.query(SEEN, [withinSeconds])).map(([resource, instance, seenAt, alive]) => {
      const [, service = '', version = ''] = String(resource).split(':');
      return {
        service,
        version,
        instance: instance as string,
        seenAt: Math.round(seenAt as number),
        alive: alive as boolean,
      };
    });
  }
}

/** The instance may be any text. It comes last, and makes the name unique. */
function resourceOf({
  service,
  version,
  instance,
}: {
  service: string;
  version: string;
  instance: string;
}): string {
  return `${PREFIX}${service}:${version}:${instance}`;
}

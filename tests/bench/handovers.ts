import pg from 'pg';
import { quantile } from './quantile.ts';

/** Handovers of a session between services, as two events of its stream. Their times say how long each took. */
const HANDOVERS = [
  { name: 'accepted to claimed by the runner', from: 'session.created', to: 'run.started' },
  { name: 'claimed to answered', from: 'run.started', to: 'session.final-response' },
  { name: 'answered to claimed by delivery', from: 'session.final-response', to: 'delivery.attempted' },
  { name: 'claimed to delivered', from: 'delivery.attempted', to: 'delivery.succeeded' },
] as const;

export interface Handover {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
}

/** For all sessions created since `since` (the database's clock, see `logTime`). */
export async function handoversSince(databaseUrl: string, since: string): Promise<Handover[]> {
  return withClient(databaseUrl, async (client) => {
    const measured: Handover[] = [];
    for (const { name, from, to } of HANDOVERS) {
      const { rows } = await client.query<{ ms: number }>(
        `SELECT date_part('epoch', b.recorded_at - a.recorded_at) * 1000 AS ms
         FROM angelia.events c
         JOIN angelia.events a ON a.stream_id = c.stream_id AND a.type = $1
         JOIN angelia.events b ON b.stream_id = c.stream_id AND b.type = $2
         WHERE c.type = 'session.created' AND c.version = 1 AND c.recorded_at >= $3::timestamptz`,
        [from, to, since],
      );
      const ms = rows.map((row) => row.ms);
      measured.push({ name, p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) });
    }
    return measured;
  });
}

export async function logTime(databaseUrl: string): Promise<string> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
    return rows[0]?.now ?? '';
  });
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

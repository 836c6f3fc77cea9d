import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openEventLog } from '@angelia/event-log';
import { startStack } from '@angelia/local';
import { stringify } from 'yaml';
import { sessionsPerSecond } from '../sessions.ts';
import { startBenchSink } from '../sink.ts';

/** An event of a session as the services wrote it. */
export interface TemplateEvent {
  /** Which of the sessions. Events of the key's stream are those of a session that was opened under a key. */
  readonly session: number;
  readonly ofKey: boolean;
  readonly version: number;
  readonly type: string;
  readonly data: unknown;
  readonly meta: unknown;
  /** Milliseconds since the session was created. */
  readonly after: number;
}

const SECRET = 'bench-secret';
/** They differ in nothing but their times. */
const SESSIONS = 16;

/** Whole sessions of a real stack: a signed webhook of 1 KB under a session key, the echo model, a delivery by HTTP. */
export async function recordTemplate(home: string): Promise<TemplateEvent[]> {
  const sink = await startBenchSink();
  const config = join(home, 'template.yaml');
  await writeFile(
    config,
    stringify({
      secret: SECRET,
      limits: { rate_limit: 0 },
      models: { demo: { provider: 'builtin', model: 'echo' } },
      agents: { default: { model: 'demo' } },
      targets: { http: { allow_private_networks: true } },
      routes: {
        bench: {
          prompt: 'Review {pull_request.title}: {pull_request.body}',
          session_key: '{pull_request.head}',
          deliver: 'http',
          deliver_extra: { url: sink.url },
        },
      },
    }),
  );
  const stack = await startStack({
    dataDir: join(home, 'template'),
    config,
    port: 0,
    env: { ANGELIA_LOG_LEVEL: 'warn' },
  });
  const log = openEventLog({ url: stack.databaseUrl, instance: 'bench', holder: 'bench#template' });
  try {
    const target = { url: stack.url, secret: SECRET, sink, route: 'bench' };
    await sessionsPerSecond(target, { sessions: 2 * SESSIONS, inFlight: 4 });
    const rows = await log.database.relaxed.query(WHOLE_SESSIONS, [SESSIONS]);
    return rows.map(([session, ofKey, version, type, data, meta, after]) => ({
      session: session as number,
      ofKey: ofKey as boolean,
      version: version as number,
      type: type as string,
      data,
      meta,
      after: after as number,
    }));
  } finally {
    await log.close();
    await stack.stop();
    await sink.close();
  }
}

/** The last ones: the first are slow, because the services have just started. */
const WHOLE_SESSIONS = {
  name: '',
  text: `SELECT s.n::int, e.stream_id <> s.id, e.version, e.type, e.data, e.meta,
           date_part('epoch', e.recorded_at - s.created) * 1000
         FROM (
           SELECT c.stream_id AS id, c.recorded_at AS created, row_number() OVER (ORDER BY c.stream_id DESC) - 1 AS n
           FROM angelia.events c WHERE c.type = 'session.created'
             AND EXISTS (SELECT FROM angelia.events e WHERE e.stream_id = c.stream_id AND e.type = 'delivery.succeeded')
           ORDER BY c.stream_id DESC LIMIT $1) s
         JOIN angelia.events e ON e.meta ->> 'correlation' = s.id
         ORDER BY s.n, e.stream_id, e.version`,
};

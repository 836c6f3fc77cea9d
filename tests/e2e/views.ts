import type { RecordedEvent } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { projectSession } from '@angelia/session';
import pg from 'pg';

/** A row of a view, without columns that differ between two equal builds. Times are milliseconds. */
export type ViewRow = Readonly<Record<string, unknown>>;

export interface AllViews {
  readonly sessions: ViewRow[];
  readonly deliveries: ViewRow[];
}

/** Reads a stack's database from outside: the views as they are, and as a fold of the log says they should be. */
export class ViewsObserver {
  readonly #client: pg.Client;
  readonly #log: EventLog;

  private constructor(client: pg.Client, log: EventLog) {
    this.#client = client;
    this.#log = log;
  }

  static async connect(url: string): Promise<ViewsObserver> {
    const client = new pg.Client({ connectionString: url });
    // A test may stop Postgres during this.
    client.on('error', () => {});
    await client.connect();
    return new ViewsObserver(client, openEventLog({ url, instance: 'test', holder: 'test#1' }));
  }

  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#client.query<Row>(text, values)).rows;
  }

  async views(): Promise<AllViews> {
    const sessions = await this.query('SELECT * FROM angelia.sessions ORDER BY session_id');
    const deliveries = await this.query('SELECT * FROM angelia.deliveries ORDER BY session_id, output');
    return { sessions: sessions.map(asRow), deliveries: deliveries.map(asRow) };
  }

  async folded(): Promise<AllViews> {
    const ids = await this.query<{ stream_id: string }>(
      `SELECT stream_id FROM angelia.events WHERE version = 1 AND type = 'session.created' ORDER BY stream_id`,
    );
    const folds = await Promise.all(
      ids.map(async ({ stream_id: id }) => ({ id, ...fold(await this.#log.streams.read(id)) })),
    );
    return {
      sessions: folds.map(({ id, session, state }) =>
        asRow({
          session_id: id,
          version: session.version,
          route: session.route,
          status: session.status,
          outcome: session.outcome,
          created_at: session.createdAt,
          last_activity_at: session.lastActivityAt,
          ended_at: session.endedAt,
          run_due_at: session.runDueAt,
          running: session.running,
          delivery_due_at: session.deliveryDueAt,
          process_due_at: session.processDueAt,
          settled: session.settled,
          state,
          agent: session.agent,
          model: session.model,
          failure: session.failure,
          title: session.title,
          delivery_id: session.deliveryId,
          // The driver returns bigint as text.
          tokens: String(session.tokens),
          waiting_for: session.waitingFor,
          waiting_since: session.waitingSince,
          continues: session.continues,
        }),
      ),
      deliveries: folds.flatMap(({ id, deliveries }) =>
        [...deliveries]
          .sort((a, b) => a.output - b.output)
          .map((delivery) =>
            asRow({
              session_id: id,
              output: delivery.output,
              target: delivery.target,
              status: delivery.status,
              attempts: delivery.attempts,
              due_at: delivery.dueAt,
              updated_at: delivery.updatedAt,
              detail: delivery.detail,
            }),
          ),
      ),
    };
  }

  async close(): Promise<void> {
    await this.#log.close();
    await this.#client.end();
  }
}

function fold(events: readonly RecordedEvent[]) {
  return projectSession(null, events);
}

/** As JSON, with times in milliseconds: jsonb has no undefined, and the driver returns dates. */
function asRow(row: Readonly<Record<string, unknown>>): ViewRow {
  const plain = Object.entries(row).map(([key, value]) => [
    key,
    value instanceof Date ? value.getTime() : value,
  ]);
  return JSON.parse(JSON.stringify(Object.fromEntries(plain))) as ViewRow;
}

import { toStorableJson } from '../append/storable.ts';
import { boolArray, float8Array, int4Array, jsonbArray, textArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import type { TailCursor } from '../tail/tail.ts';
import { viewsCheckpoint, viewsSchema } from './build-names.ts';
import type { DeliveryRow, ProcessRow, SessionViews } from './session-views.ts';

/** A session's rows with their JSON as text. The text is made once, then checked, written and remembered. */
export interface ProjectedSession {
  readonly sessionId: string;
  readonly version: number;
  readonly session: SessionViews['session'];
  readonly state: string;
  readonly deliveries: readonly (DeliveryRow & {
    readonly sessionId: string;
    readonly json: string | null;
  })[];
  readonly processes: readonly (ProcessRow & { readonly sessionId: string; readonly json: string | null })[];
}

/** Whose writes count: the leader's into the active build, or the rebuild's into a build that is not active yet. */
export interface ViewsFence {
  readonly build: number;
  readonly version: number;
  readonly leadEpoch: number;
  readonly whileActive: boolean;
}

/** Throws for what Postgres cannot store, so that one session becomes a dead letter and its page is not refused. */
export function toRows(sessionId: string, version: number, views: SessionViews): ProjectedSession {
  const { session } = views;
  const withJson = <Row extends { readonly detail?: unknown }>(row: Row) => ({
    ...row,
    sessionId,
    json: detailOf(row),
  });
  const times = [
    session.createdAt,
    session.lastActivityAt,
    session.endedAt,
    session.waitingSince,
    session.runDueAt,
    session.deliveryDueAt,
    session.processDueAt,
    ...views.deliveries.flatMap((delivery) => [delivery.dueAt, delivery.updatedAt]),
    ...views.processes.map((process) => process.updatedAt),
  ];
  if (times.some((time) => time !== null && !Number.isFinite(time)))
    throw new Error('the projection made a time that is not a number');
  return {
    sessionId,
    version,
    session,
    state: toStorableJson(views.state, 'the projection'),
    deliveries: views.deliveries.map(withJson),
    processes: views.processes.map(withJson),
  };
}

function detailOf({ detail }: { readonly detail?: unknown }): string | null {
  return detail === undefined || detail === null ? null : toStorableJson(detail, 'the projection');
}

const time = (column: string) => `to_timestamp(x.${column} / 1000)`;

/** The checkpoint's row is the fence. It is locked first; if it does not match, nothing else is written. */
function writeStatement(build: number): Statement {
  const schema = viewsSchema(build);
  return {
    name: `write_views_${build}`,
    text: `WITH moved AS (
  UPDATE angelia.checkpoints c
  SET epoch = coalesce($4::int, c.epoch), tx = coalesce($5::text::xid8, c.tx), position = coalesce($6::bigint, c.position)
  WHERE c.name = $1 AND c.lead_epoch = $2
    AND (NOT $3::boolean OR EXISTS (SELECT FROM angelia.view_builds b WHERE b.build = ${build} AND b.active))
  RETURNING 1
), sessions AS (
  INSERT INTO ${schema}.sessions (session_id, version, route, status, outcome, created_at, last_activity_at, ended_at,
    run_due_at, running, delivery_due_at, process_due_at, settled, state, agent, model, failure, title, delivery_id, tokens,
    waiting_for, waiting_since, continues)
  SELECT x.id, x.version, x.route, x.status, x.outcome, ${time('created')}, ${time('active')}, ${time('ended')},
    ${time('run_due')}, x.running, ${time('delivery_due')}, ${time('process_due')}, x.settled, x.state,
    x.agent, x.model, x.failure, x.title, x.delivery_id, x.tokens, x.waiting_for, ${time('waiting_since')},
    x.continues
  FROM unnest($7::text[], $8::int[], $9::text[], $10::text[], $11::text[], $12::float8[], $13::float8[], $14::float8[],
    $15::float8[], $16::boolean[], $17::float8[], $18::float8[], $19::boolean[], $20::jsonb[],
    $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::float8[], $27::text[], $28::float8[], $29::text[])
    x(id, version, route, status, outcome, created, active, ended, run_due, running, delivery_due, process_due, settled, state,
      agent, model, failure, title, delivery_id, tokens, waiting_for, waiting_since, continues)
  WHERE EXISTS (SELECT FROM moved)
  ON CONFLICT (session_id) DO UPDATE SET version = EXCLUDED.version, route = EXCLUDED.route, status = EXCLUDED.status,
    outcome = EXCLUDED.outcome, created_at = EXCLUDED.created_at, last_activity_at = EXCLUDED.last_activity_at,
    ended_at = EXCLUDED.ended_at, run_due_at = EXCLUDED.run_due_at, running = EXCLUDED.running,
    delivery_due_at = EXCLUDED.delivery_due_at, process_due_at = EXCLUDED.process_due_at, settled = EXCLUDED.settled,
    state = EXCLUDED.state, agent = EXCLUDED.agent, model = EXCLUDED.model, failure = EXCLUDED.failure,
    title = EXCLUDED.title, delivery_id = EXCLUDED.delivery_id, tokens = EXCLUDED.tokens,
    waiting_for = EXCLUDED.waiting_for, waiting_since = EXCLUDED.waiting_since,
    continues = EXCLUDED.continues
), deliveries AS (
  INSERT INTO ${schema}.deliveries (session_id, output, target, status, attempts, due_at, updated_at, detail)
  SELECT x.id, x.output, x.target, x.status, x.attempts, ${time('due')}, ${time('updated')}, x.detail
  FROM unnest($30::text[], $31::int[], $32::text[], $33::text[], $34::int[], $35::float8[], $36::float8[], $37::jsonb[])
    x(id, output, target, status, attempts, due, updated, detail)
  WHERE EXISTS (SELECT FROM moved)
  ON CONFLICT (session_id, output) DO UPDATE SET target = EXCLUDED.target, status = EXCLUDED.status,
    attempts = EXCLUDED.attempts, due_at = EXCLUDED.due_at, updated_at = EXCLUDED.updated_at, detail = EXCLUDED.detail
), processes AS (
  INSERT INTO ${schema}.processes (process_id, session_id, status, updated_at, detail)
  SELECT x.process, x.id, x.status, ${time('updated')}, x.detail
  FROM unnest($38::text[], $39::text[], $40::text[], $41::float8[], $42::jsonb[]) x(process, id, status, updated, detail)
  WHERE EXISTS (SELECT FROM moved)
  ON CONFLICT (process_id) DO UPDATE SET session_id = EXCLUDED.session_id, status = EXCLUDED.status,
    updated_at = EXCLUDED.updated_at, detail = EXCLUDED.detail
)
SELECT count(*) FROM moved`,
  };
}

/** Writes rows and checkpoint in one statement. `to` null: only the rows. False: the fence held, and nothing was changed. */
export async function writeViews(
  pool: ConnectionPool,
  fence: ViewsFence,
  to: TailCursor | null,
  rows: readonly ProjectedSession[],
): Promise<boolean> {
  const sessions = rows.map((row) => row.session);
  const deliveries = lastOfEach(
    rows.flatMap((row) => row.deliveries),
    (delivery) => `${delivery.sessionId} ${delivery.output}`,
  );
  const processes = lastOfEach(
    rows.flatMap((row) => row.processes),
    (process) => process.processId,
  );
  const answer = await pool.query(writeStatement(fence.build), [
    viewsCheckpoint(fence),
    fence.leadEpoch,
    fence.whileActive,
    to?.epoch ?? null,
    to?.tx ?? null,
    to?.position ?? null,
    textArray(rows.map((row) => row.sessionId)),
    int4Array(rows.map((row) => row.version)),
    textArray(sessions.map((session) => session.route)),
    textArray(sessions.map((session) => session.status)),
    textArray(sessions.map((session) => session.outcome)),
    float8Array(sessions.map((session) => session.createdAt)),
    float8Array(sessions.map((session) => session.lastActivityAt)),
    float8Array(sessions.map((session) => session.endedAt)),
    float8Array(sessions.map((session) => session.runDueAt)),
    boolArray(sessions.map((session) => session.running)),
    float8Array(sessions.map((session) => session.deliveryDueAt)),
    float8Array(sessions.map((session) => session.processDueAt)),
    boolArray(sessions.map((session) => session.settled)),
    jsonbArray(rows.map((row) => row.state)),
    textArray(sessions.map((session) => session.agent)),
    textArray(sessions.map((session) => session.model)),
    textArray(sessions.map((session) => session.failure)),
    textArray(sessions.map((session) => session.title)),
    textArray(sessions.map((session) => session.deliveryId)),
    float8Array(sessions.map((session) => session.tokens)),
    textArray(sessions.map((session) => session.waitingFor)),
    float8Array(sessions.map((session) => session.waitingSince)),
    textArray(sessions.map((session) => session.continues)),
    textArray(deliveries.map((delivery) => delivery.sessionId)),
    int4Array(deliveries.map((delivery) => delivery.output)),
    textArray(deliveries.map((delivery) => delivery.target)),
    textArray(deliveries.map((delivery) => delivery.status)),
    int4Array(deliveries.map((delivery) => delivery.attempts)),
    float8Array(deliveries.map((delivery) => delivery.dueAt)),
    float8Array(deliveries.map((delivery) => delivery.updatedAt)),
    jsonbArray(deliveries.map((delivery) => delivery.json)),
    textArray(processes.map((process) => process.processId)),
    textArray(processes.map((process) => process.sessionId)),
    textArray(processes.map((process) => process.status)),
    float8Array(processes.map((process) => process.updatedAt)),
    jsonbArray(processes.map((process) => process.json)),
  ]);
  return (answer[0]?.[0] as number) > 0;
}

/** A statement cannot upsert a row twice. */
function lastOfEach<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  const byName = new Map(items.map((item) => [nameOf(item), item]));
  return byName.size === items.length ? [...items] : [...byName.values()];
}

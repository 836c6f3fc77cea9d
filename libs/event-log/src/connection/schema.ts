import type { Generated } from 'kysely';

/**
 * The version of the views: of their tables, and of what the projection writes into them. Raise it with every change of
 * sql/views/tables.sql, of `SessionState` and of `projectSession` that older rows would need too. A build of a lower version
 * is rebuilt by itself while the services work (admin/upgrade-views.ts). Until then the new program writes into the old
 * build, so sql/views/widen.sql adds new columns to it.
 */
export const VIEWS_VERSION = 4;

/** The tables and views that queries are built for, as sql/*.sql make them. bigint is a number on our pools. */
export interface Schema {
  'angelia.sessions': {
    session_id: string;
    version: number;
    route: string;
    status: string;
    outcome: string | null;
    created_at: Date;
    last_activity_at: Date;
    ended_at: Date | null;
    run_due_at: Date | null;
    running: boolean;
    delivery_due_at: Date | null;
    process_due_at: Date | null;
    settled: boolean;
    state: unknown;
    agent: string;
    model: string | null;
    failure: string | null;
    title: string;
    delivery_id: string;
    tokens: number;
    waiting_for: string | null;
    waiting_since: Date | null;
    continues: string | null;
  };
  'angelia.deliveries': {
    session_id: string;
    output: number;
    target: string;
    status: string;
    attempts: number;
    due_at: Date | null;
    updated_at: Date;
    detail: unknown;
  };
  'angelia.processes': {
    process_id: string;
    session_id: string;
    status: string;
    updated_at: Date;
    detail: unknown;
  };
  'angelia.leases': {
    resource: string;
    holder: string;
    expires_at: Date;
    renewed_at: Date;
    pool: string | null;
  };
  'angelia.leaders': {
    name: string;
    holder: string;
    epoch: number;
    expires_at: Date;
    note: unknown;
  };
  'angelia.dead_letters': {
    id: Generated<number>;
    stream_id: string;
    version: number;
    handler: string;
    reason: string;
    payload: unknown;
    recorded_at: Generated<Date>;
    replay_requested_at: Date | null;
  };
  'angelia.unstarted_webhook_counts': {
    route: string;
    outcome: string;
    reason: string;
    webhooks: number;
    kept: number;
    first_at: Date;
    last_at: Date;
  };
  'angelia.unstarted_webhooks': {
    route: string;
    outcome: string;
    reason: string;
    slot: number;
    received_at: Date;
    status: number;
    event: string | null;
    delivery_id: string | null;
    session_id: string | null;
    requested_route: string | null;
    detail: string | null;
    source: string | null;
  };
  'angelia.view_builds': {
    build: number;
    active: boolean;
    version: number;
  };
  'angelia.migrations': {
    number: number;
    name: string;
    checksum: string;
    applied_at: Generated<Date>;
  };
  'angelia.cluster': {
    /** A bigint beyond 2^53: read it as text. */
    system_identifier: string;
    epoch: number;
  };
}

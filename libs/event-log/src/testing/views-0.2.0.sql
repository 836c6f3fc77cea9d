-- sql/views/tables.sql of version 0.2.0, for the test of an upgrade (admin/upgrade-views.int.test.ts).
CREATE SCHEMA :views;

-- Pages are not filled: nearly every event of a session rewrites its row.
CREATE TABLE :views.sessions (
  session_id text COLLATE "C" PRIMARY KEY,
  version int NOT NULL,
  route text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  outcome text,
  created_at timestamptz NOT NULL,
  last_activity_at timestamptz NOT NULL,
  ended_at timestamptz,
  run_due_at timestamptz,
  running boolean NOT NULL,
  delivery_due_at timestamptz,
  process_due_at timestamptz,
  settled boolean NOT NULL,
  state jsonb NOT NULL
) WITH (fillfactor = 70);

-- Lists, newest first, use the primary key: a session's id starts with its creation time (UUID v7). Each index that a row
-- does not need saves Postgres some 2 us per webhook, and as much each time the row is rewritten.
CREATE INDEX sessions_route ON :views.sessions (route, session_id);

-- The queue by route and age, timers, and open work. They stay small however many sessions have ended.
CREATE INDEX sessions_queue ON :views.sessions (route, run_due_at, session_id) WHERE run_due_at IS NOT NULL AND NOT running;
CREATE INDEX sessions_run_due ON :views.sessions (run_due_at, session_id) WHERE run_due_at IS NOT NULL AND NOT running;
CREATE INDEX sessions_delivery_due ON :views.sessions (delivery_due_at, session_id) WHERE delivery_due_at IS NOT NULL;
CREATE INDEX sessions_process_due ON :views.sessions (process_due_at, session_id) WHERE process_due_at IS NOT NULL;
CREATE INDEX sessions_running ON :views.sessions (session_id) WHERE running;
-- Also for lists by status: only `ended` grows, and open sessions are never settled.
CREATE INDEX sessions_unsettled ON :views.sessions (session_id) WHERE NOT settled;

CREATE TABLE :views.deliveries (
  session_id text COLLATE "C" NOT NULL,
  output int NOT NULL,
  target text NOT NULL,
  status text COLLATE "C" NOT NULL,
  attempts int NOT NULL,
  due_at timestamptz,
  updated_at timestamptz NOT NULL,
  detail jsonb,
  PRIMARY KEY (session_id, output)
) WITH (fillfactor = 70);

CREATE INDEX deliveries_updated ON :views.deliveries (updated_at, session_id, output);
CREATE INDEX deliveries_status ON :views.deliveries (status, updated_at, session_id, output);

CREATE TABLE :views.processes (
  process_id text COLLATE "C" PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL,
  status text NOT NULL,
  updated_at timestamptz NOT NULL,
  detail jsonb
);

CREATE INDEX processes_session ON :views.processes (session_id);
CREATE INDEX processes_updated ON :views.processes (updated_at);
-- Processes that a watcher may have to take over. They are few, however many have run.
CREATE INDEX processes_running ON :views.processes (updated_at, process_id) WHERE status = 'running';

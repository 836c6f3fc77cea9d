-- The read models of one build. `:views` is its schema. migrate makes the first build, a rebuild makes the next ones.
-- With each change, raise VIEWS_VERSION (connection/schema.ts) and add the columns to widen.sql.
CREATE SCHEMA :views;

-- Pages are not filled: nearly every event of a session rewrites its row.
-- A rewritten row leaves dead entries in the indexes of open work, which the agenda and the runners read all the time. By
-- default autovacuum lets a fifth of the table die first: with 10 million events in the log a pass of the agenda then takes
-- 2.2 times as long. So the number of dead rows is fixed, and indexes are always cleaned, however few pages have dead rows.
-- With 10 million events that takes 0.1 s per 20,000 dead rows.
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
  state jsonb NOT NULL,
  agent text COLLATE "C" NOT NULL,
  model text COLLATE "C",
  failure text COLLATE "C",
  title text NOT NULL,
  delivery_id text COLLATE "C" NOT NULL,
  tokens bigint NOT NULL,
  waiting_for text COLLATE "C",
  waiting_since timestamptz,
  continues text COLLATE "C"
) WITH (
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_index_cleanup = on
);

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

-- For the filters of lists (read/session-list.ts). A session gets into them once, when it is settled: then they cost neither
-- a webhook nor the rewrites of a session at work. Unsettled sessions are few, and are found by the index above.
CREATE INDEX sessions_agent ON :views.sessions (agent, session_id) WHERE settled;
CREATE INDEX sessions_model ON :views.sessions (model, session_id) WHERE settled AND model IS NOT NULL;
CREATE INDEX sessions_failure ON :views.sessions (failure, session_id) WHERE settled AND failure IS NOT NULL;
-- Most sessions succeed: those are found fast by any other index.
CREATE INDEX sessions_outcome ON :views.sessions (outcome, session_id) WHERE settled AND outcome <> 'succeeded';
CREATE INDEX sessions_delivery ON :views.sessions (delivery_id, session_id) WHERE settled;
-- What continues a session. Only continuations are in it.
CREATE INDEX sessions_continues ON :views.sessions (continues, session_id) WHERE settled AND continues IS NOT NULL;

-- What ended lately, minute by minute (diagnostics/overview.ts). Once per session, like the indexes above.
CREATE INDEX sessions_ended ON :views.sessions (ended_at) WHERE settled;
-- The oldest open question first, and how many sessions wait for what. Only sessions that wait are in it.
CREATE INDEX sessions_waiting ON :views.sessions (waiting_for, waiting_since, session_id) WHERE waiting_for IS NOT NULL;

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
-- A target with few or no deliveries: without it the list reads all of them, 0.3 s with 10 million events in the log.
CREATE INDEX deliveries_target ON :views.deliveries (target, updated_at, session_id, output);

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

-- The read models live in a schema per build, angelia_views_<build>, made from views/tables.sql. A rebuild fills a new
-- one beside the active one, then the switch is one transaction (rebuild.ts).
CREATE TABLE angelia.view_builds (
  build int PRIMARY KEY,
  active boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE UNIQUE INDEX view_builds_active ON angelia.view_builds (active) WHERE active;

-- Who is at work on something and until when, by the clock of this database. Not history.
-- Half-full pages: renewals rewrite every live row every few seconds, and stay on their page (HOT).
CREATE TABLE angelia.leases (
  resource text COLLATE "C" PRIMARY KEY,
  holder text NOT NULL,
  -- The stable name in front of the incarnation: a restarted service frees what its dead predecessor held.
  instance text GENERATED ALWAYS AS (regexp_replace(holder, '#[^#]*$', '')) STORED,
  expires_at timestamptz NOT NULL,
  renewed_at timestamptz NOT NULL,
  -- A lease may be a place in a pool that has only so many: the runs of one route (`max_concurrency`), by all runners
  -- together. The run's own lease is the place, so that it is renewed, given back and lost with it.
  pool text COLLATE "C"
) WITH (fillfactor = 50);

-- Renewals change no indexed column: they still stay on their page.
CREATE INDEX leases_pool ON angelia.leases (pool) WHERE pool IS NOT NULL;

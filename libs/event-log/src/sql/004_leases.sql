-- Who is at work on something and until when, by the clock of this database. Not history.
-- Half-full pages: renewals rewrite every live row every few seconds, and stay on their page (HOT).
CREATE TABLE angelia.leases (
  resource text COLLATE "C" PRIMARY KEY,
  holder text NOT NULL,
  -- The stable name in front of the incarnation: a restarted service frees what its dead predecessor held.
  instance text GENERATED ALWAYS AS (regexp_replace(holder, '#[^#]*$', '')) STORED,
  expires_at timestamptz NOT NULL,
  renewed_at timestamptz NOT NULL
) WITH (fillfactor = 50);

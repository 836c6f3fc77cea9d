-- Buckets of rate limits: `places` as of `as_of`, filling up steadily. Not history: a lost row is a full bucket, so that
-- it need not survive a crash (UNLOGGED), and costs no WAL.
CREATE UNLOGGED TABLE angelia.rate_limits (
  resource text COLLATE "C" PRIMARY KEY,
  places double precision NOT NULL,
  as_of timestamptz NOT NULL
) WITH (fillfactor = 50);

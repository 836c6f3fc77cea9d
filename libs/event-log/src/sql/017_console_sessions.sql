-- Who is signed in to the console. Only digests (SHA-256) of the secrets are here: whoever reads these tables can sign in
-- as nobody. They survive a crash (not UNLOGGED): a session that was revoked stays revoked, a link that was used stays used.
CREATE TABLE angelia.console_sessions (
  digest text COLLATE "C" PRIMARY KEY,
  -- As events name whoever uses the session.
  actor text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);

CREATE TABLE angelia.console_links (
  digest text COLLATE "C" PRIMARY KEY,
  -- Of the session that the link opens.
  actor text NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);

CREATE INDEX console_sessions_by_expiry ON angelia.console_sessions (expires_at);
CREATE INDEX console_links_by_expiry ON angelia.console_links (expires_at);

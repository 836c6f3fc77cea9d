-- What was taken once: webhooks, API messages, notices (invariant one-delivery-one-session). Kept longer than the
-- session itself. A key past its time counts as unknown, is replaced when it comes again, and is deleted in the end.
CREATE TABLE angelia.idempotency_keys (
  key text COLLATE "C" PRIMARY KEY,
  stream_id text COLLATE "C" NOT NULL,
  first_version int NOT NULL,
  last_version int NOT NULL,
  expires_at timestamptz NOT NULL
);

CREATE INDEX idempotency_keys_expiry ON angelia.idempotency_keys (expires_at);

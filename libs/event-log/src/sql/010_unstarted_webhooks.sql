-- Webhooks that started no session, and why: counted, and the last of each kind kept. Not history and written in batches
-- beside the hot path, so that it need not survive a crash (UNLOGGED) and costs no WAL.
CREATE UNLOGGED TABLE angelia.unstarted_webhook_counts (
  route text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  webhooks bigint NOT NULL,
  -- How many of them were written below: of a flood only a few per second are.
  kept bigint NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (route, outcome, reason)
) WITH (fillfactor = 50);

-- A ring for each kind: slot = kept modulo its size. No flood fills more than its own ring, and nothing has to be
-- deleted to make room.
CREATE UNLOGGED TABLE angelia.unstarted_webhooks (
  route text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  slot int NOT NULL,
  received_at timestamptz NOT NULL,
  status int NOT NULL,
  event text,
  delivery_id text,
  session_id text,
  requested_route text,
  PRIMARY KEY (route, outcome, reason, slot)
) WITH (fillfactor = 70);

CREATE INDEX unstarted_webhooks_by_time ON angelia.unstarted_webhooks (received_at);
CREATE INDEX unstarted_webhook_counts_by_time ON angelia.unstarted_webhook_counts (last_at);

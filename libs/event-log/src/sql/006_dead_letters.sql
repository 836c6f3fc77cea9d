-- Events that a handler can never process, with the reason. An outage never makes one.
CREATE TABLE angelia.dead_letters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream_id text COLLATE "C" NOT NULL,
  version int NOT NULL,
  handler text NOT NULL,
  reason text NOT NULL,
  payload jsonb,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (stream_id, version, handler)
);

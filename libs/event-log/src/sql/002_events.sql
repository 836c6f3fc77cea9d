-- The log. Only inserted into; services have no right to do more (roles.ts).
CREATE TABLE angelia.events (
  -- "C": streams are compared for identity only, and bytes compare fastest.
  stream_id text COLLATE "C" NOT NULL,
  version int NOT NULL CHECK (version > 0),
  epoch int NOT NULL,
  tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
  position bigint GENERATED ALWAYS AS IDENTITY,
  schema_version int NOT NULL,
  event_id uuid NOT NULL,
  recorded_at timestamptz NOT NULL,
  type text NOT NULL,
  data jsonb NOT NULL,
  meta jsonb NOT NULL,
  PRIMARY KEY (stream_id, version)
);

-- The tail: the global order in which projections and the relay read (tail.ts).
CREATE INDEX events_tail ON angelia.events (epoch, tx, position);

-- Who leads the relay, the projection, the agenda. The epoch counts up with every change of leader; a write of a
-- leader that was replaced (frozen, cut off) carries an old one and changes nothing.
-- One count for all names, so that whoever leads later has the higher epoch, whatever its lead is called.
CREATE SEQUENCE angelia.lead_epochs;

CREATE TABLE angelia.leaders (
  name text PRIMARY KEY,
  holder text NOT NULL,
  epoch bigint NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- How far a led reader of the tail has come. lead_epoch is the fence: the leader puts its own in when it starts, and
-- every later write asks for it in the same row, so that row locks decide between two who both think they lead.
CREATE TABLE angelia.checkpoints (
  name text PRIMARY KEY,
  epoch int NOT NULL DEFAULT 0,
  tx xid8 NOT NULL DEFAULT '0',
  position bigint NOT NULL DEFAULT 0,
  lead_epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO angelia.checkpoints (name) VALUES ('relay');

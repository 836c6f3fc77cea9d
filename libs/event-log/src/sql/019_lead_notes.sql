-- What the leader says about its work: whether the connection of a chat is there, and why not. For the operator; it may be
-- lost without harm. Empty: it has said nothing yet.
ALTER TABLE angelia.leaders ADD COLUMN IF NOT EXISTS note jsonb;

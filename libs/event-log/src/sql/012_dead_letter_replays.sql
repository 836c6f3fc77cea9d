-- Somebody mended what could not process it, and asks to have it tried again. For the projection, whose leader alone
-- writes the views; hints are simply sent once more.
ALTER TABLE angelia.dead_letters ADD COLUMN replay_requested_at timestamptz;

-- Builds know the version of their tables and of what the projection wrote into them (connection/schema.ts).
ALTER TABLE angelia.view_builds ADD COLUMN version int NOT NULL DEFAULT 1;

-- Which Postgres cluster the log was written in. Transaction ids order the tail, and mean nothing in another cluster:
-- after a restore the epoch is raised, and rows of earlier epochs come before all others.
CREATE TABLE angelia.cluster (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  system_identifier bigint NOT NULL,
  epoch int NOT NULL DEFAULT 1
);

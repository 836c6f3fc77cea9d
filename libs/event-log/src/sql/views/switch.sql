-- What everybody reads: stable names in schema angelia over the tables of the active build.
-- Dropped first: a build with other columns cannot replace a view in place. In one transaction, nobody sees it missing.
DROP VIEW IF EXISTS angelia.sessions, angelia.deliveries, angelia.processes;
CREATE VIEW angelia.sessions AS SELECT * FROM :views.sessions;
CREATE VIEW angelia.deliveries AS SELECT * FROM :views.deliveries;
CREATE VIEW angelia.processes AS SELECT * FROM :views.processes;

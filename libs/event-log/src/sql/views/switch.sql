-- What everybody reads: stable names in schema angelia for the tables of the active build.
-- The views are dropped first, because a build with other columns cannot replace a view in place. All of it is one
-- transaction, so nobody sees them missing.
DROP VIEW IF EXISTS angelia.sessions, angelia.deliveries, angelia.processes;
CREATE VIEW angelia.sessions AS SELECT * FROM :views.sessions;
CREATE VIEW angelia.deliveries AS SELECT * FROM :views.deliveries;
CREATE VIEW angelia.processes AS SELECT * FROM :views.processes;

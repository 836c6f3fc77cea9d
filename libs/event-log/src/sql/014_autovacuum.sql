-- What autovacuum does with a long log (docs/adr/0018). These settings lock out nobody who reads or writes.

-- Events never change, so a page is frozen when it is vacuumed for the first time. By default that waits for 50 million
-- transactions, and then all pages are read and written again at once: 62 s and 5.3 GB of WAL for half of 10 million events.
ALTER TABLE angelia.events SET (autovacuum_freeze_min_age = 0);

-- Every build gets the same from views/tables.sql, which says why.
DO $$
DECLARE
  views text;
BEGIN
  FOR views IN SELECT 'angelia_views_' || b.build FROM angelia.view_builds b LOOP
    EXECUTE format('ALTER TABLE %I.sessions SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
      vacuum_index_cleanup = on)', views);
  END LOOP;
END
$$;

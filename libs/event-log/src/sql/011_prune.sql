-- Takes whole sessions out of the log and the views, in one transaction; returns those that are gone. One is left alone
-- when it is not settled, is younger than `older_than` (null: of any age), when the views or the relay have not come
-- past its last event, or while a rebuild fills another build (which could bring its row back).
-- What was delivered under which id is not touched: a repeat is known for as long as its key is kept.
CREATE FUNCTION angelia.prune(ids text[], older_than timestamptz, OUT gone text[]) LANGUAGE plpgsql AS $$
DECLARE
  views text;
BEGIN
  -- With createBuild (view-builds.ts): either it sees that these are gone, or we see that it has begun.
  PERFORM pg_advisory_xact_lock_shared(6223372036854003);
  gone := '{}';
  IF EXISTS (SELECT FROM angelia.view_builds b WHERE NOT b.active) THEN RETURN; END IF;
  SELECT 'angelia_views_' || b.build INTO views FROM angelia.view_builds b WHERE b.active;

  -- The streams' own locks, in the order in which an append takes them: nobody appends to what is going.
  PERFORM pg_advisory_xact_lock(l.lock)
  FROM (SELECT hashtextextended(i, 0) AS lock FROM unnest(ids) i ORDER BY 1) l;

  gone := ARRAY(
    SELECT s.session_id FROM unnest(ids) i(id) JOIN angelia.sessions s ON s.session_id = i.id
    WHERE s.settled AND (older_than IS NULL OR s.ended_at < older_than)
      AND s.version = (
        SELECT e.version FROM angelia.events e WHERE e.stream_id = s.session_id ORDER BY e.version DESC LIMIT 1)
      AND NOT EXISTS (
        SELECT FROM angelia.events e, angelia.checkpoints c
        WHERE e.stream_id = s.session_id AND (e.epoch, e.tx, e.position) > (c.epoch, c.tx, c.position)));

  DELETE FROM angelia.events e WHERE e.stream_id = ANY (gone);
  DELETE FROM angelia.dead_letters d WHERE d.stream_id = ANY (gone);
  EXECUTE format('DELETE FROM %I.deliveries WHERE session_id = ANY ($1)', views) USING gone;
  EXECUTE format('DELETE FROM %I.processes WHERE session_id = ANY ($1)', views) USING gone;
  EXECUTE format('DELETE FROM %I.sessions WHERE session_id = ANY ($1)', views) USING gone;
END
$$;

-- The stream of a key says which session is the current one under it. Once that session is gone it says nothing.
CREATE FUNCTION angelia.prune_keys(ids text[], OUT gone text[]) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(l.lock)
  FROM (SELECT hashtextextended(i, 0) AS lock FROM unnest(ids) i ORDER BY 1) l;
  gone := ARRAY(
    SELECT i.id FROM unnest(ids) i(id)
    WHERE NOT EXISTS (
        SELECT FROM angelia.events e, angelia.checkpoints c
        WHERE e.stream_id = i.id AND (e.epoch, e.tx, e.position) > (c.epoch, c.tx, c.position))
      AND NOT EXISTS (
        SELECT FROM (
          SELECT e.data ->> 'session_id' AS session FROM angelia.events e
          WHERE e.stream_id = i.id ORDER BY e.version DESC LIMIT 1) last
        JOIN angelia.events e ON e.stream_id = last.session AND e.version = 1));
  DELETE FROM angelia.events e WHERE e.stream_id = ANY (gone);
END
$$;

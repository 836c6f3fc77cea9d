-- Appends to one stream, which is what a service does that is not under load. The same as angelia.append for a batch of one,
-- but with half of the statements: starting them is most of what a single append costs. It has no pool and no rate limit,
-- and at most one of a key and a lease.
--
-- Null: something is not as usual (another head, a known key, a lease that another holds), and nothing is written. Then the
-- caller asks angelia.append, which says what it is.
CREATE FUNCTION angelia.append_one(
  s_stream text, s_expected int,
  k_key text, k_keep double precision,
  -- seconds null: give it back.
  l_resource text, l_holder text, l_seconds double precision,
  e_type text[], e_id uuid[], e_data jsonb[], e_meta jsonb[],
  e_schema_version int
) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  stream_lock bigint := hashtextextended(s_stream, 0);
  other_lock bigint := coalesce(hashtextextended(k_key, 1), hashtextextended(l_resource, 2), stream_lock);
  recorded timestamptz;
  log_epoch int;
  clean boolean;
BEGIN
  -- The same locks in the same order as in angelia.append, and before the first write, for the same reasons. As a condition,
  -- because that starts no statement.
  IF pg_advisory_xact_lock(least(stream_lock, other_lock)) IS NULL THEN RETURN NULL; END IF;
  IF stream_lock <> other_lock AND pg_advisory_xact_lock(greatest(stream_lock, other_lock)) IS NULL THEN RETURN NULL; END IF;

  -- Whole milliseconds: what is read back is exactly what the writer was told.
  recorded := date_trunc('milliseconds', clock_timestamp());

  SELECT c.epoch, s_expected = coalesce((
      SELECT e.version FROM angelia.events e WHERE e.stream_id = s_stream ORDER BY e.version DESC LIMIT 1), 0)
    AND (k_key IS NULL OR NOT EXISTS (
      SELECT FROM angelia.idempotency_keys i WHERE i.key = k_key AND i.expires_at > recorded))
  INTO log_epoch, clean
  FROM angelia.cluster c;
  IF clean IS NOT TRUE THEN RETURN NULL; END IF;

  IF l_seconds IS NOT NULL THEN
    -- Waits for a renewal under way.
    INSERT INTO angelia.leases AS i (resource, holder, expires_at, renewed_at, pool)
    VALUES (l_resource, l_holder, clock_timestamp() + make_interval(secs => l_seconds), clock_timestamp(), NULL)
    ON CONFLICT (resource) DO UPDATE SET holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at,
      renewed_at = EXCLUDED.renewed_at, pool = EXCLUDED.pool
    WHERE i.holder = EXCLUDED.holder OR i.expires_at <= clock_timestamp();
    IF NOT FOUND THEN RETURN NULL; END IF;
  ELSIF l_resource IS NOT NULL THEN
    DELETE FROM angelia.leases i WHERE i.resource = l_resource AND i.holder = l_holder;
  END IF;

  IF k_key IS NOT NULL THEN
    INSERT INTO angelia.idempotency_keys AS i (key, stream_id, first_version, last_version, expires_at)
    VALUES (k_key, s_stream, s_expected + 1, s_expected + cardinality(e_id), recorded + make_interval(secs => k_keep))
    -- Only one past its time can be in the way: the key is locked, and a live one was found above.
    ON CONFLICT (key) DO UPDATE SET stream_id = EXCLUDED.stream_id, first_version = EXCLUDED.first_version,
      last_version = EXCLUDED.last_version, expires_at = EXCLUDED.expires_at;
  END IF;

  INSERT INTO angelia.events (stream_id, version, type, schema_version, event_id, data, meta, epoch, recorded_at)
  SELECT s_stream, s_expected + e.n, e.type, e_schema_version, e.id, e.data, e.meta, log_epoch, recorded
  FROM unnest(e_type, e_id, e_data, e_meta) WITH ORDINALITY e(type, id, data, meta, n);

  RETURN date_part('epoch', recorded) * 1000;
END
$$;

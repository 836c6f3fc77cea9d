-- Appends a batch in one round trip and one transaction, and says what became of each append:
--   appended   its rows are stored (now, or by an earlier call whose answer was lost: they carry its event ids)
--   duplicate  its key is known: what the key stored
--   conflict   a stream's head is not the expected one
--   leased     another live holder has the lease it asks for
--   full       its lease is a place in a pool, and all of them are taken
--   limited    the bucket of its rate limit is empty; one that is refused for another reason takes nothing from it
-- One that is refused does not fail its neighbours. Only refused ones are listed, and those found stored.
--
-- Arguments are arrays by kind: k_* one per key, l_* one per lease (seconds null: give it back;
-- pool and places null: of no pool), r_* one per append
-- under a rate limit, s_* one per stream,
-- e_* one per event in order; *_append numbers the append it belongs to, from 1, without gaps.
-- The caller puts a stream, a key, a lease and a pool at most once into a batch.
CREATE FUNCTION angelia.append(
  k_append int[], k_key text[], k_keep double precision[], k_stream text[], k_first int[], k_last int[],
  l_append int[], l_resource text[], l_holder text[], l_seconds double precision[],
  l_pool text[], l_places int[],
  r_append int[], r_resource text[], r_per_minute int[],
  s_append int[], s_stream text[], s_expected int[], s_first_id uuid[],
  e_append int[], e_stream text[], e_version int[], e_type text[], e_id uuid[], e_data jsonb[], e_meta jsonb[],
  e_schema_version int,
  OUT appended_at double precision, OUT refused jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  recorded timestamptz;
  log_epoch int;
  clean boolean;
  free boolean[];
  limited jsonb;
  full_appends int[] := '{}';
BEGIN
  -- All locks before the first write, in one order for all: no deadlocks, and a transaction that waits here has no
  -- xid yet, so that a stream's versions and transaction ids grow together (else the tail could show 2 before 1).
  -- A statement of its own: the next one's snapshot sees what this one waited for. Keys and leases are locked too,
  -- because a row that does not exist yet cannot be.
  PERFORM pg_advisory_xact_lock(l.lock)
  FROM (
    SELECT hashtextextended(s, 0) AS lock FROM unnest(s_stream) s
    UNION SELECT hashtextextended(k, 1) FROM unnest(k_key) k
    UNION SELECT hashtextextended(l, 2) FROM unnest(l_resource) l
    UNION SELECT hashtextextended(r, 3) FROM unnest(r_resource) r
    UNION SELECT hashtextextended(p, 4) FROM unnest(l_pool) p WHERE p IS NOT NULL
    ORDER BY lock
  ) l;

  -- Whole milliseconds: what is read back is exactly what the writer was told.
  recorded := date_trunc('milliseconds', clock_timestamp());

  -- The usual case, cheaply: every head is as expected, no key known, no lease held by another.
  SELECT c.epoch, NOT EXISTS (
    SELECT FROM unnest(s_stream, s_expected) s(stream, expected)
    WHERE s.expected <> coalesce((
      SELECT e.version FROM angelia.events e WHERE e.stream_id = s.stream ORDER BY e.version DESC LIMIT 1), 0))
  INTO log_epoch, clean
  FROM angelia.cluster c;

  IF clean AND cardinality(k_key) > 0 THEN
    clean := NOT EXISTS (
      SELECT FROM angelia.idempotency_keys i WHERE i.key = ANY (k_key) AND i.expires_at > recorded);
  END IF;

  IF cardinality(l_resource) > 0 THEN
    -- A renewal under way is waited for; it locks in the same order.
    IF array_remove(l_pool, NULL) = '{}' THEN
      PERFORM FROM angelia.leases i WHERE i.resource = ANY (l_resource) ORDER BY i.resource FOR UPDATE;
    ELSE
      PERFORM FROM angelia.leases i WHERE i.resource = ANY (l_resource) OR i.pool = ANY (l_pool)
      ORDER BY i.resource FOR UPDATE;
      -- Under the pool's lock: nobody else can take a place of it between this count and our own.
      full_appends := ARRAY(
        SELECT l.append FROM unnest(l_append, l_resource, l_pool, l_places) l(append, resource, pool, places)
        WHERE l.pool IS NOT NULL AND l.places <= (
          SELECT count(*) FROM angelia.leases i
          WHERE i.pool = l.pool AND i.resource <> l.resource AND i.expires_at > clock_timestamp()));
      clean := clean AND full_appends = '{}';
    END IF;
    IF clean THEN
      clean := NOT EXISTS (
        SELECT FROM unnest(l_resource, l_holder, l_seconds) l(resource, holder, seconds)
        JOIN angelia.leases i ON i.resource = l.resource
        WHERE l.seconds IS NOT NULL AND i.holder <> l.holder AND i.expires_at > clock_timestamp());
    END IF;
  END IF;

  IF NOT clean THEN
    WITH s AS (
      SELECT s.append, s.n, s.stream, s.expected,
        coalesce((
          SELECT e.version FROM angelia.events e WHERE e.stream_id = s.stream ORDER BY e.version DESC LIMIT 1), 0) AS head,
        (SELECT e.recorded_at FROM angelia.events e
         WHERE e.stream_id = s.stream AND e.version = s.expected + 1 AND e.event_id = s.first_id) AS mine_at
      FROM unnest(s_append, s_stream, s_expected, s_first_id) WITH ORDINALITY s(append, stream, expected, first_id, n)
    ), a AS (
      SELECT s.append, bool_and(s.head = s.expected) AS heads_fit, max(s.mine_at) AS mine_at,
        jsonb_agg(jsonb_build_array(s.stream, s.head) ORDER BY s.n) AS heads
      FROM s GROUP BY s.append
    ), verdicts AS (
      SELECT a.append, a.heads, a.mine_at, k.stream_id, k.first_version, k.last_version, l.holder, l.expires_at,
        CASE WHEN a.mine_at IS NOT NULL THEN 'appended'
             WHEN k.stream_id IS NOT NULL THEN 'duplicate'
             WHEN NOT a.heads_fit THEN 'conflict'
             WHEN l.holder IS NOT NULL THEN 'leased'
             WHEN a.append = ANY (full_appends) THEN 'full'
             ELSE 'free' END AS verdict
      FROM a
      LEFT JOIN LATERAL (
        SELECT i.stream_id, i.first_version, i.last_version
        FROM unnest(k_append, k_key) k(append, key) JOIN angelia.idempotency_keys i ON i.key = k.key
        WHERE k.append = a.append AND i.expires_at > recorded
      ) k ON true
      LEFT JOIN LATERAL (
        SELECT i.holder, i.expires_at
        FROM unnest(l_append, l_resource, l_holder, l_seconds) l(append, resource, holder, seconds)
        JOIN angelia.leases i ON i.resource = l.resource
        WHERE l.append = a.append AND l.seconds IS NOT NULL AND i.holder <> l.holder AND i.expires_at > clock_timestamp()
      ) l ON true
    )
    SELECT array_agg(v.verdict = 'free' ORDER BY v.append),
      jsonb_agg(CASE v.verdict
        WHEN 'appended' THEN jsonb_build_object('append', v.append, 'verdict', v.verdict,
          'at', date_part('epoch', v.mine_at) * 1000)
        WHEN 'duplicate' THEN jsonb_build_object('append', v.append, 'verdict', v.verdict,
          'stream', v.stream_id, 'first', v.first_version, 'last', v.last_version)
        WHEN 'conflict' THEN jsonb_build_object('append', v.append, 'verdict', v.verdict, 'heads', v.heads)
        WHEN 'full' THEN jsonb_build_object('append', v.append, 'verdict', v.verdict)
        ELSE jsonb_build_object('append', v.append, 'verdict', v.verdict, 'holder', v.holder,
          'until', date_part('epoch', v.expires_at) * 1000)
      END) FILTER (WHERE v.verdict <> 'free')
    INTO free, refused
    FROM verdicts v;
  END IF;

  IF cardinality(r_append) > 0 THEN
    -- Fills each bucket up to now and takes a place for each append in their order, as far as there are places.
    WITH asked AS (
      SELECT r.append, r.resource, r.per_minute,
        row_number() OVER (PARTITION BY r.resource ORDER BY r.append) AS n
      FROM unnest(r_append, r_resource, r_per_minute) r(append, resource, per_minute)
      WHERE clean OR free[r.append]
    ), filled AS (
      SELECT a.resource, max(a.per_minute) AS per_minute, count(*) AS wanted,
        coalesce((
          SELECT least(max(a.per_minute),
            b.places + greatest(0, date_part('epoch', recorded - b.as_of)) * max(a.per_minute) / 60)
          FROM angelia.rate_limits b WHERE b.resource = a.resource), max(a.per_minute)) AS places
      FROM asked a GROUP BY a.resource
    ), taken AS (
      INSERT INTO angelia.rate_limits AS b (resource, places, as_of)
      SELECT f.resource, f.places - least(f.wanted, floor(f.places)), recorded FROM filled f
      ON CONFLICT (resource) DO UPDATE SET places = EXCLUDED.places, as_of = EXCLUDED.as_of
    )
    SELECT jsonb_agg(jsonb_build_object('append', a.append, 'verdict', 'limited',
      'wait', (a.n - f.places) * 60 / f.per_minute))
    INTO limited
    FROM asked a JOIN filled f USING (resource)
    WHERE a.n > floor(f.places);

    IF limited IS NOT NULL THEN
      free := ARRAY(
        SELECT (clean OR free[n]) AND NOT limited @> jsonb_build_array(jsonb_build_object('append', n))
        FROM generate_series(1, (SELECT max(s) FROM unnest(s_append) s)) n ORDER BY n);
      clean := false;
      refused := coalesce(refused, '[]') || limited;
    END IF;
  END IF;

  IF cardinality(k_key) > 0 THEN
    INSERT INTO angelia.idempotency_keys AS i (key, stream_id, first_version, last_version, expires_at)
    SELECT k.key, k.stream, k.first, k.last, recorded + make_interval(secs => k.keep)
    FROM unnest(k_append, k_key, k_keep, k_stream, k_first, k_last) k(append, key, keep, stream, first, last)
    WHERE clean OR free[k.append]
    -- Only one past its time can be in the way: the key is locked, and a live one was found above.
    ON CONFLICT (key) DO UPDATE SET stream_id = EXCLUDED.stream_id, first_version = EXCLUDED.first_version,
      last_version = EXCLUDED.last_version, expires_at = EXCLUDED.expires_at;
  END IF;

  INSERT INTO angelia.events (stream_id, version, type, schema_version, event_id, data, meta, epoch, recorded_at)
  SELECT e.stream, e.version, e.type, e_schema_version, e.id, e.data, e.meta, log_epoch, recorded
  FROM unnest(e_append, e_stream, e_version, e_type, e_id, e_data, e_meta)
    e(append, stream, version, type, id, data, meta)
  WHERE clean OR free[e.append];

  IF cardinality(l_resource) > 0 THEN
    INSERT INTO angelia.leases AS i (resource, holder, expires_at, renewed_at, pool)
    SELECT l.resource, l.holder, clock_timestamp() + make_interval(secs => l.seconds), clock_timestamp(), l.pool
    FROM unnest(l_append, l_resource, l_holder, l_seconds, l_pool) l(append, resource, holder, seconds, pool)
    WHERE l.seconds IS NOT NULL AND (clean OR free[l.append])
    ON CONFLICT (resource) DO UPDATE SET holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at,
      renewed_at = EXCLUDED.renewed_at, pool = EXCLUDED.pool;

    DELETE FROM angelia.leases i
    USING unnest(l_append, l_resource, l_holder, l_seconds) l(append, resource, holder, seconds)
    WHERE i.resource = l.resource AND i.holder = l.holder AND l.seconds IS NULL AND (clean OR free[l.append]);
  END IF;

  appended_at := date_part('epoch', recorded) * 1000;
END
$$;

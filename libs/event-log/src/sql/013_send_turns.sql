-- When messages were sent, or will be, to what a platform counts them by (a chat, or all of a bot): the platform's rates
-- hold for all replicas together. Not history: a lost row lets a few through that the platform then refuses, so that it
-- need not survive a crash (UNLOGGED).
CREATE UNLOGGED TABLE angelia.send_turns (
  name text COLLATE "C" PRIMARY KEY,
  -- The last ones, ascending; as many as the rate allows in its stretch of time.
  sends timestamptz[] NOT NULL DEFAULT '{}',
  -- The platform asked for it.
  paused_until timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

-- The next turn at all of `names`, at most `most[i]` in any `stretch[i]` seconds (null: no rate, only pauses count). It is
-- reserved when it is at most `longest` seconds ahead. `held_by`: which of the names (from 1) makes it wait.
CREATE FUNCTION angelia.take_turn(
  names text[], most int[], stretch double precision[], longest double precision,
  OUT wait double precision, OUT held_by int, OUT taken boolean
) LANGUAGE plpgsql AS $$
DECLARE
  asked timestamptz;
  free timestamptz;
BEGIN
  INSERT INTO angelia.send_turns (name) SELECT n FROM unnest(names) n ORDER BY n ON CONFLICT DO NOTHING;
  PERFORM FROM angelia.send_turns t WHERE t.name = ANY (names) ORDER BY t.name FOR UPDATE;
  -- After the locks: who waited for one is told the time since it got it.
  asked := clock_timestamp();
  SELECT a.n, greatest(t.paused_until, t.sends[cardinality(t.sends) - a.most + 1] + make_interval(secs => a.stretch))
  INTO held_by, free
  FROM unnest(names, most, stretch) WITH ORDINALITY a(name, most, stretch, n)
  JOIN angelia.send_turns t ON t.name = a.name
  ORDER BY 2 DESC LIMIT 1;
  free := greatest(asked, free);
  wait := date_part('epoch', free - asked);
  taken := wait <= longest;
  IF taken THEN
    -- In order, also when somebody reserved a later one before: then no window holds more than `most`.
    UPDATE angelia.send_turns t
    SET sends = ARRAY(
      SELECT l.s FROM (SELECT s FROM unnest(t.sends || free) s ORDER BY s DESC LIMIT a.most) l ORDER BY l.s)
    FROM unnest(names, most) a(name, most)
    WHERE t.name = a.name AND a.most IS NOT NULL;
  END IF;
END
$$;

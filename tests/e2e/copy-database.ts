import pg from 'pg';

/**
 * Does in plain SQL what `pg_dump` and `pg_restore` do to our schema: the embedded Postgres has neither, and those of the
 * system refuse a newer server. The dump is one snapshot, taken under load. The restore goes into a cluster in which
 * `migrate` has created roles and schema. Both URLs are a superuser's.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const [source, copy] = [from, to].map((connectionString) => new pg.Client({ connectionString }));
  if (source === undefined || copy === undefined) throw new Error('give two URLs');
  await Promise.all([source.connect(), copy.connect()]);
  try {
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows: tables } = await source.query<{ name: string; columns: string }>(
      `SELECT format('%I.%I', c.table_schema, c.table_name) AS name,
              string_agg(quote_ident(c.column_name), ', ' ORDER BY c.ordinal_position) AS columns
       FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
       WHERE t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
         AND (c.table_schema = 'angelia' OR c.table_schema LIKE 'angelia_views_%')
       GROUP BY 1`,
    );
    await copy.query('BEGIN');
    await copy.query(`TRUNCATE ${tables.map(({ name }) => name).join(', ')}`);
    for (const { name, columns } of tables) {
      const { rows } = await source.query<{ all: string | null }>(
        `SELECT json_agg(t)::text AS all FROM (SELECT ${columns} FROM ${name}) t`,
      );
      await copy.query(
        `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
         SELECT ${columns} FROM json_populate_recordset(null::${name}, $1)`,
        [rows[0]?.all ?? '[]'],
      );
    }
    const { rows: sequences } = await source.query<{ name: string; last: string | null }>(
      `SELECT format('%I.%I', schemaname, sequencename) AS name, last_value::text AS last
       FROM pg_sequences WHERE schemaname = 'angelia'`,
    );
    for (const { name, last } of sequences) {
      if (last !== null) await copy.query('SELECT setval($1::regclass, $2)', [name, last]);
    }
    await copy.query('COMMIT');
  } finally {
    await Promise.all([source.end(), copy.end()]);
  }
}

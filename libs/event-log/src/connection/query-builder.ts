import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  sql,
} from 'kysely';
import type pg from 'pg';
import type { Schema } from './schema.ts';

/** Builds statements and runs none: they run on the pools, with their time limits and errors. */
export const queries = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

export type BuiltQuery<Selected> = Compilable<Selected>;

/** A query that is compiled once and prepared under its name, so that a call costs no more than hand-written SQL. */
export interface PreparedQuery<Parameters extends object, Selected> {
  readonly name: string;
  readonly text: string;
  readonly valuesOf: (parameters: Parameters) => unknown[];
  /** Never there: it carries the type of the rows. */
  readonly rows?: Selected[];
}

/** Stands for a value that each call brings. */
class Placeholder {
  readonly key: string | symbol;
  constructor(key: string | symbol) {
    this.key = key;
  }
}

/** `make` is called once, with placeholders. Each later call fills them in. */
export function prepare<Parameters extends object, Selected>(
  name: string,
  make: (parameters: Parameters) => BuiltQuery<Selected>,
): PreparedQuery<Parameters, Selected> {
  const placeholders = new Proxy({}, { get: (_, key) => new Placeholder(key) }) as Parameters;
  const query = make(placeholders).compile();
  const parameters = [...query.parameters];
  return {
    name,
    text: query.sql,
    valuesOf: (given) =>
      parameters.map((value) =>
        value instanceof Placeholder ? given[value.key as keyof Parameters] : value,
      ),
  };
}

/** A timestamptz as milliseconds, with fractions. */
export function milliseconds(column: string): RawBuilder<number> {
  return sql<number>`date_part('epoch', ${sql.ref(column)}) * 1000`;
}

/** For work that has a connection of its own, such as migrating. */
export async function runOn<Selected extends object>(
  client: pg.ClientBase,
  query: BuiltQuery<Selected>,
): Promise<Selected[]> {
  const { sql: text, parameters } = query.compile();
  return (await client.query(text, [...parameters])).rows;
}

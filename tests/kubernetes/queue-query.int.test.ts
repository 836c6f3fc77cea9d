import { createTestDatabase } from '@angelia/testkit';
import { expect, it } from '@jest/globals';
import { listAt, textAt } from './object.ts';
import { renderVariant } from './overlays.ts';

it("KEDA's query of Postgres returns the number of sessions that are due and not running", async () => {
  const query = renderVariant('production')
    .filter(({ kind }) => kind === 'ScaledObject')
    .flatMap((object) => listAt(object, 'spec.triggers'))
    .map((trigger) => textAt(trigger, 'metadata.query'))
    .find((text) => text !== undefined);
  const database = await createTestDatabase();
  try {
    const [build] = await database.query<{ definition: string }>(
      `SELECT pg_get_viewdef('angelia.sessions'::regclass) AS definition`,
    );
    const table = /FROM ([\w.]+)/.exec(build?.definition ?? '')?.[1] ?? '';
    const session = (id: string, due: string | null, running: boolean) =>
      database.query(
        `INSERT INTO ${table} (session_id, version, route, status, created_at, last_activity_at, run_due_at, running, settled, state,
           agent, title, delivery_id, tokens)
         VALUES ($1, 1, 'r', 'queued', now(), now(), now() + $2::interval, $3, false, '{}', 'a', 't', 'd', 0)`,
        [id, due, running],
      );
    await session('due', '-1 second', false);
    await session('due for long', '-1 hour', false);
    await session('running', '-1 second', true);
    await session('later', '1 hour', false);
    await session('never', null, false);
    expect(await database.query(String(query))).toEqual([{ count: '2' }]);
  } finally {
    await database.drop();
  }
});

import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { answer, eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { type AllViews, ViewsObserver } from '../views.ts';

// Invariant views-are-disposable: dropped views come back equal while the services run.

const run = promisify(execFile);
const repositoryRoot = resolve(import.meta.dirname, '../../..');

let sink: Sink;
let observer: ViewsObserver;

async function posted(count: number): Promise<void> {
  const posts = await Promise.all(
    Array.from({ length: count }, (_, n) => stack.post({ route: 'viewed', body: { text: `work ${n}` } })),
  );
  for (const { sessionId } of posts) await stack.waitForEnd(sessionId, { settled: true });
}

/** Waits until the views have seen the whole log. */
async function caughtUp(): Promise<AllViews> {
  const folded = await observer.folded();
  return await eventually(async () => {
    const views = await observer.views();
    expect(views).toEqual(folded);
    return views;
  });
}

async function rebuild(): Promise<void> {
  await run(process.execPath, [join(repositoryRoot, 'dist/rebuild.js')], {
    env: { ...process.env, DATABASE_URL: stack.postgresUrl },
  });
}

const activeBuild = async () =>
  (await observer.query<{ build: number }>('SELECT build FROM angelia.view_builds WHERE active'))[0]?.build;

export function views(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return { routes: { viewed: testRoute(sink.url) } };
  });

  afterAll(() => sink?.stop());

  describe('the views', () => {
    beforeAll(async () => {
      observer = await ViewsObserver.connect(stack.postgresUrl);
    });
    afterAll(() => observer?.close());

    it('equal a fold of the log: delivered, retried and dead', async () => {
      const before = (await caughtUp()).sessions.length;
      sink.next(answer(503), answer(410));
      await posted(10);
      const views = await caughtUp();
      expect(views.sessions).toHaveLength(before + 10);
      expect(new Set(views.deliveries.map(({ status }) => status))).toEqual(new Set(['delivered', 'dead']));
    });

    it('are equal after a rebuild while the services run', async () => {
      const before = await caughtUp();
      const old = await activeBuild();
      await rebuild();
      expect(await activeBuild()).not.toBe(old);
      expect(await observer.views()).toEqual(before);
    });

    it('come back equal after all of them were dropped, and the live projection continues in them', async () => {
      const before = await caughtUp();
      await observer.query(`DROP SCHEMA angelia_views_${await activeBuild()} CASCADE`);
      await expect(observer.views()).rejects.toThrow('does not exist');
      await rebuild();
      expect(await observer.views()).toEqual(before);

      await posted(10);
      expect((await caughtUp()).sessions).toHaveLength(before.sessions.length + 10);
    });
  });
}

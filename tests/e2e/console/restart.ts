import { eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import type { Page } from '@angelia/testkit/browser';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { open, signedIn } from './visit.ts';

/** What a browser logs by itself while nobody listens, or while ingress drains or starts. */
const AWAY = /net::ERR_|status of 503/;

const liveMark = (page: Page, text: string | RegExp) =>
  page.getByRole('navigation', { name: 'Views', exact: true }).getByRole('status').filter({ hasText: text });

let sink: Sink;

export function restart(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return { routes: { restart: testRoute(sink.url) } };
  });

  afterAll(() => sink?.stop());

  describe('a page that is open while the server restarts', () => {
    it('says so, recovers by itself, and the person is still signed in', async () => {
      await signedIn(
        async (page) => {
          await open(page, 'Sessions');
          await liveMark(page, /^Live$/).waitFor();
          await page.evaluate('window.sameDocument = true');
          await stack.hold('ingress');
          await liveMark(page, 'Reconnecting').waitFor();
          await stack.resume('ingress');
          await liveMark(page, /^Live$/).waitFor();
          expect(await page.evaluate('window.sameDocument')).toBe(true);
          // What comes after the restart is shown, not only the mark.
          await appears(page, 'after a restart');
          await open(page, 'System');
          await page.reload();
          await page.getByRole('heading', { name: 'System', level: 1 }).waitFor();
        },
        { expected: [AWAY] },
      );
    });

    it('shows by itself what came while it was killed and after', async () => {
      await signedIn(
        async (page) => {
          await open(page, 'Sessions');
          await liveMark(page, /^Live$/).waitFor();
          await page.evaluate('window.sameDocument = true');
          await stack.restarted('ingress', stack.kill('ingress'));
          await appears(page, 'after a kill');
          await liveMark(page, /^Live$/).waitFor();
          expect(await page.evaluate('window.sameDocument')).toBe(true);
        },
        { expected: [AWAY] },
      );
    });
  });

  describe('a page whose calls fail again and again', () => {
    it('says why, and goes on by itself', async () => {
      await signedIn(
        async (page) => {
          const failing = /\/v1\/routes/;
          await page.route(failing, (call) => call.fulfill({ status: 500, json: { error: 'No disk.' } }));
          await open(page, 'Routes');
          await page.getByRole('status').filter({ hasText: 'No disk.' }).waitFor();
          await page.unroute(failing);
          await page.getByRole('link', { name: 'restart', exact: true }).waitFor();
          await page.getByText('No disk.').waitFor({ state: 'detached' });
        },
        { expected: [/status of 500/] },
      );
    });
  });
}

/** A new session is in the list, without anybody touching the page. */
async function appears(page: Page, text: string): Promise<void> {
  const posted = await eventually(() =>
    stack.post({ route: 'restart', body: { text } }).then(
      (answer) => (answer.status === 202 ? answer : null),
      // Nobody listens yet.
      () => null,
    ),
  );
  await page
    .getByRole('list', { name: 'Sessions' })
    .getByRole('listitem')
    .filter({ hasText: posted.sessionId })
    .waitFor();
}

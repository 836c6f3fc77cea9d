import { eventually, type Sink, startSink, TEST_SINK_SECRET } from '@angelia/testkit';
import { afterAll, describe, it } from '@jest/globals';
import { addToStack } from '../shared-stack.ts';
import { open, signedIn } from './visit.ts';

let sink: Sink;

export function newRoute(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return {};
  });

  afterAll(() => sink?.stop());

  describe('a route', () => {
    it('is made with a preview of its template, gets a test webhook, and the session is seen', async () => {
      await signedIn(async (page) => {
        await open(page, 'Routes');
        await page.getByRole('link', { name: 'New route' }).click();
        await page.getByLabel('Name').fill('greetings');
        await page.getByRole('button', { name: 'Save' }).click();
        await eventually(() => sink.received.length === 1);
      });
    });
  });
}

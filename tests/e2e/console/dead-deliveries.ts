import { answer, eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { open, signedIn } from './visit.ts';

const COUNT = 50;

let sink: Sink;

export function deadDeliveries(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    sink.behave({ kind: 'answer', status: 410, body: '{"error":"the channel was archived"}' });
    const route = testRoute(sink.url, { deliver_only: true });
    return { routes: { archived: route, 'archived-too': route } };
  });

  afterAll(() => sink?.stop());

  describe('dead deliveries', () => {
    it('are found by route, and 50 of them are retried at once, after a preview', async () => {
      const texts = Array.from({ length: COUNT }, (_, index) => `alert ${index}`);
      const posted = await Promise.all(
        texts.map((text) => stack.post({ route: 'archived', body: { text } })),
      );
      const other = await stack.post({ route: 'archived-too', body: { text: 'not this one' } });
      await eventually(async () => {
        const { items } = await stack.adminGet<{ items: unknown[] }>(
          '/v1/deliveries?state=dead&route=archived&limit=100',
        );
        return items.length === COUNT;
      });
      sink.behave(answer(200));
      await signedIn(async (page) => {
        await open(page, 'Deliveries');
        await page.getByLabel('Route').fill('archived');
        await page.getByRole('button', { name: /^Retry all/ }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(`${COUNT}`).first().waitFor();
        await dialog.getByRole('button', { name: /^Retry/ }).click();
        await eventually(() => posted.every(({ sessionId }) => sink.answersOf(sessionId).length === 1));
        expect(sink.answersOf(other.sessionId)).toEqual([]);
      });
    });
  });
}

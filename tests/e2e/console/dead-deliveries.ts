import { answer, eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { open, signedIn } from './visit.ts';

const COUNT = 50;

let sink: Sink;

export function deadDeliveries(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    sink.behave(answer(410));
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
          '/v1/deliveries?status=dead&route=archived&limit=100',
        );
        return items.length === COUNT;
      });
      sink.behave(answer(200));
      await signedIn(async (page) => {
        await open(page, 'Deliveries');
        await page.getByLabel('Route').selectOption('archived');
        await page.getByText('http 410 from').first().waitFor();
        await page.getByRole('button', { name: 'Retry all dead that match' }).click();
        await page.getByText(`It concerns ${COUNT} dead deliveries.`).waitFor();
        expect(sink.taken()).toEqual([]);
        await page.getByRole('button', { name: `Send ${COUNT} dead deliveries again` }).click();
        await page.getByRole('progressbar', { name: 'Progress of the job' }).waitFor();
        await page.getByText(`${COUNT} of ${COUNT}: ${COUNT} done`).waitFor();
        await eventually(() => posted.every(({ sessionId }) => sink.answersOf(sessionId).length === 1));
        expect(sink.answersOf(other.sessionId)).toEqual([]);
      });
    });
  });
}

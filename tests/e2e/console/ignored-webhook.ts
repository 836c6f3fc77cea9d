import { type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { open, signedIn } from './visit.ts';

let sink: Sink;

export function ignoredWebhook(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return {
      routes: { picky: testRoute(sink.url, { filters: [{ field: 'action', in: ['opened', 'reopened'] }] }) },
    };
  });

  afterAll(() => sink?.stop());

  describe('a webhook that started nothing', () => {
    it('is found with the filter that said no and the value that it saw', async () => {
      const posted = await stack.post({ route: 'picky', body: { text: 'x', action: 'closed-by-bot' } });
      expect(posted.body).toMatchObject({ status: 'ignored', reason: 'filter' });
      await signedIn(async (page) => {
        await open(page, 'Webhooks');
        await page.getByLabel('Route').selectOption('picky');
        const row = page.getByRole('listitem').filter({ hasText: 'closed-by-bot' });
        await row.getByRole('link', { name: 'picky' }).waitFor();
        await row.getByText('reason filter').waitFor();
        expect(await row.textContent()).toMatch(/action.*opened/);
      });
    });
  });
}

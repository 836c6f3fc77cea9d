import {
  answer,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';
import { violations } from './accessibility.ts';
import { open, signedIn } from './visit.ts';

let sink: Sink;
let model: ModelServer;

export function liveSession(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    model = await startModelServer();
    return {
      models: { watched: modelAt(model) },
      agents: { watched: { kind: 'llm', model: 'watched' } },
      routes: { watched: testRoute(sink.url, { agent: 'watched', title: '{text}' }) },
      extra: { jaeger_url: 'http://127.0.0.1:16686/jaeger/' },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
  });

  describe('a session', () => {
    it('is seen live from the webhook to the delivery, without a reload', async () => {
      const thought = Promise.withResolvers<void>();
      const taken = Promise.withResolvers<void>();
      model.behave(async () => thought.promise.then(() => say('The **rain** has stopped.')));
      sink.behave(async () => taken.promise.then(() => answer(200)));
      await signedIn(async (page) => {
        await open(page, 'Sessions');
        await page.evaluate('window.sameDocument = true');
        const { sessionId } = await stack.post({ route: 'watched', body: { text: 'Does it rain?' } });
        await page
          .getByRole('list', { name: 'Sessions' })
          .getByRole('link', { name: 'Does it rain?', exact: true })
          .click();
        await page.getByRole('heading', { name: 'Does it rain?', level: 1 }).waitFor();
        const main = page.getByRole('main');
        await main.getByText(sessionId, { exact: true }).waitFor();
        await main.getByText('Running', { exact: true }).waitFor();
        await page.getByRole('tab', { name: 'Outputs' }).click();
        await main.getByText('Nothing was said yet').waitFor();

        thought.resolve();
        const output = main.getByRole('article').filter({ hasText: 'The rain has stopped.' });
        await output.getByText('Pending', { exact: true }).waitFor();
        await main.getByText('Succeeded', { exact: true }).waitFor();
        expect(await output.locator('strong').textContent()).toBe('rain');

        taken.resolve();
        await output.getByText('Delivered', { exact: true }).waitFor();
        expect(await page.evaluate('window.sameDocument')).toBe(true);

        const { trace_id } = await stack.session(sessionId);
        const trace = main.getByRole('link', { name: 'Open in Jaeger' });
        expect(await trace.getAttribute('href')).toBe(`http://127.0.0.1:16686/jaeger/trace/${trace_id}`);

        // The same steps for those who cannot see the bars.
        await page.getByRole('tab', { name: 'Timeline' }).click();
        await page.getByRole('button', { name: 'Show as a table' }).click();
        expect(await main.getByRole('table').getByRole('row').count()).toBeGreaterThan(3);
        expect(await violations(page)).toEqual([]);
      });
    });
  });
}

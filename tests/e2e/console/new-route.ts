import { type Sink, startSink, TEST_SINK_SECRET } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { open, signedIn } from './visit.ts';

let sink: Sink;

export function newRoute(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return {};
  });

  afterAll(() => sink?.stop());

  describe('a route', () => {
    it('is made with a preview of its template, gets a test webhook, and its session is seen', async () => {
      await signedIn(async (page) => {
        await open(page, 'Routes');
        await page.getByRole('link', { name: 'New route' }).click();
        await page.getByLabel('Name', { exact: true }).fill('greetings');
        await page.getByRole('textbox', { name: 'prompt' }).fill('Greet {who}, please.');
        await page.getByLabel('deliver', { exact: true }).fill('http');
        await page.getByRole('textbox', { name: 'deliver_extra' }).fill(JSON.stringify({ url: sink.url }));
        await page.getByRole('textbox', { name: 'Payload' }).fill('{"who":"Ada"}');
        // Rendered while one types, before anything is stored.
        await page.getByText('Greet Ada, please.').first().waitFor();
        expect((await stack.adminGet<{ items: { name: string }[] }>('/v1/routes')).items).not.toContainEqual(
          expect.objectContaining({ name: 'greetings' }),
        );
        await page.getByRole('button', { name: 'Make the route' }).click();
        await page.getByRole('dialog', { name: 'The secret of greetings' }).waitFor();
        await page.getByRole('button', { name: 'I have stored it' }).click();
        await page.getByRole('heading', { name: 'greetings', level: 1 }).waitFor();

        await page.getByRole('textbox', { name: 'Payload' }).fill('{"who":"Grace"}');
        await page.getByRole('button', { name: 'Send the test webhook' }).click();
        await page.getByRole('link', { name: 'Open the session' }).click();
        await page.getByText('Succeeded', { exact: true }).waitFor();
        const sessionId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
        await stack.waitForEnd(sessionId, { settled: true });
        expect(sink.answersOf(sessionId)).toEqual([expect.stringContaining('Grace')]);
      });
    });
  });
}

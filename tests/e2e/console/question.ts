import {
  callTool,
  eventually,
  type ModelServer,
  type Sink,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';
import { violations } from './accessibility.ts';
import { answerLink, open, signedIn, visit } from './visit.ts';

let sink: Sink;
let model: ModelServer;

export function question(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    model = await startModelServer();
    return {
      models: { curious: modelAt(model) },
      agents: { curious: { kind: 'llm', model: 'curious', toolsets: ['clarify'] } },
      routes: { curious: testRoute(sink.url, { agent: 'curious', title: '{text}' }) },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
  });

  describe('a question', () => {
    it('comes into the inbox by itself, is answered in place, and the session goes on', async () => {
      await signedIn(async (page) => {
        await open(page, 'Inbox');
        model.next(callTool('clarify', { question: 'Which colour?', choices: ['Red', 'Blue'] }));
        const { sessionId } = await stack.post({ route: 'curious', body: { text: 'Paint the shed' } });
        const asked = page
          .getByRole('list', { name: 'Open questions' })
          .getByRole('listitem')
          .filter({ hasText: 'Which colour?' });
        await asked.waitFor();
        await eventually(async () => (await page.title()).startsWith('(1)'));
        await asked.getByRole('button', { name: 'Blue' }).click();
        await asked.waitFor({ state: 'detached' });
        await eventually(async () => !(await page.title()).startsWith('('));
        expect(await stack.waitForEnd(sessionId, { settled: true })).toMatchObject({ outcome: 'succeeded' });
        const messages = model.requests.at(-1)?.body.messages as { role: string; content: string }[];
        expect(messages.at(-1)).toMatchObject({ role: 'tool', content: '{"answer":"Blue"}' });
      });
    });

    it('is answered in own words behind its link, which needs no sign-in and works once', async () => {
      const question = 'Which **colour**?\n\n- `red` is out\n- [the chart](https://example.com/chart)';
      model.next(callTool('clarify', { question, choices: ['White', 'Grey'] }));
      const { sessionId } = await stack.post({ route: 'curious', body: { text: 'Paint the door' } });
      const link = await answerLink(sink, sessionId);
      await visit(
        async (page) => {
          await page.goto(link);
          await page.getByRole('heading', { name: 'Paint the door', level: 1 }).waitFor();
          // Markdown, and not its signs.
          expect(await page.locator('strong', { hasText: 'colour' }).count()).toBe(1);
          expect(await page.locator('li code', { hasText: 'red' }).count()).toBe(1);
          const chart = page.getByRole('link', { name: 'the chart' });
          expect(await chart.getAttribute('rel')).toContain('noopener');
          const shown = await page.getByRole('main').textContent();
          expect(shown).not.toMatch(/[*`]/);
          expect(shown).toContain('Agent curious (route curious) asks, for Paint the door');
          expect(shown).toContain(`session ${sessionId}`);
          expect(await violations(page)).toEqual([]);
          await page.getByLabel('Grey').check();
          await page.getByLabel(/another answer/).fill('Green, please');
          await page.getByRole('button', { name: 'Send' }).click();
          await page.getByRole('heading', { name: 'Thank you' }).waitFor();
          await page.goto(link);
          await page.getByText('has been answered already').waitFor();
        },
        { expected: [/status of 410/] },
      );
      await stack.waitForEnd(sessionId, { settled: true });
      const messages = model.requests.at(-1)?.body.messages as { role: string; content: string }[];
      expect(messages.at(-1)).toMatchObject({ role: 'tool', content: '{"answer":"Green, please"}' });
    });
  });
}

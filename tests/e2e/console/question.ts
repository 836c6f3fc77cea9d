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
import { open, signedIn } from './visit.ts';

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
  });
}

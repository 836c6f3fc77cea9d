import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  callTool,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import type { Page } from '@angelia/testkit/browser';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';
import { violations } from './accessibility.ts';
import { answerLink, open, signedIn, visit } from './visit.ts';

let sink: Sink;
let model: ModelServer;
/** Where the texts want the browser to go. On loopback, so that the answer would come. */
let beacon: Server;
let beaconUrl: string;
const asked: string[] = [];

const hostile = (marker: string) =>
  [
    `${marker} <script>window.ran = 'script'</script>`,
    `<img src="${beaconUrl}/html.png" onerror="window.ran = 'onerror'">`,
    `![beacon](${beaconUrl}/markdown.png)`,
    `[click me](javascript:window.ran='link')`,
    `<svg onload="window.ran = 'svg'"></svg><iframe src="${beaconUrl}/frame"></iframe>`,
    '<style>body { display: none }</style><base href="http://example.com/">',
    '\u202Egpj.exe \u2066evil\u2069',
    '{{constructor.constructor("window.ran = 1")()}}',
  ].join('\n');

export function hostileTexts(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    model = await startModelServer();
    beacon = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => beacon.listen(0, '127.0.0.1', resolve));
    beaconUrl = `http://127.0.0.1:${(beacon.address() as AddressInfo).port}`;
    return {
      models: { hostile: modelAt(model) },
      agents: { hostile: { kind: 'llm', model: 'hostile', toolsets: ['clarify'] } },
      routes: {
        hostile: testRoute(sink.url, { agent: 'hostile', title: '{text}', prompt: '{__raw__}' }),
        'hostile-long': testRoute(sink.url, { agent: 'hostile', title: '{text}', prompt: 'Go on.' }),
      },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
    beacon?.close();
  });

  const nothingRan = async (page: Page) => {
    expect(await page.evaluate('window.ran')).toBeUndefined();
    // Nothing that a text could have made.
    const made = ':is(main, dialog, .toasts) :is(img, iframe, script, base, style, svg[onload])';
    expect(await page.locator(made).count()).toBe(0);
    expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
    const shown = String(await page.evaluate('document.title + document.body.innerText'));
    expect(shown).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
    for (const link of await page.locator('a[target]').all())
      expect(await link.getAttribute('rel')).toContain('noopener');
  };

  describe('a hostile title, payload and answer', () => {
    it('are shown as text, and do nothing', async () => {
      model.next(say(hostile('ANSWER')));
      const body = { text: hostile('TITLE'), comment: hostile('PAYLOAD') };
      const { sessionId } = await stack.post({ route: 'hostile', body });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(async (page) => {
        await open(page, 'Sessions');
        await page.getByRole('link', { name: /^TITLE/ }).waitFor();
        await nothingRan(page);
        await page.getByRole('link', { name: /^TITLE/ }).click();
        await page.getByRole('heading', { name: /^TITLE/, level: 1 }).waitFor();
        for (const [tab, text] of [
          ['Timeline', 'What happened'],
          ['Transcript', 'ANSWER'],
          ['Outputs', 'ANSWER'],
          ['Events', 'session.created'],
        ] as const) {
          await page.getByRole('tab', { name: tab }).click();
          await page.getByRole('tabpanel').getByText(text).first().waitFor();
          await nothingRan(page);
        }
      });
      expect(asked).toEqual([]);
    });

    it('of a question do nothing in the inbox, the dialog, the title of the page and an error', async () => {
      const choice = '<img src=x onerror="window.ran=1"> \u202Egpj.exe';
      model.next(callTool('clarify', { question: hostile('QUESTION'), choices: [choice, 'Plain'] }));
      const { sessionId } = await stack.post({ route: 'hostile', body: { text: hostile('ASKED') } });
      await signedIn(
        async (page) => {
          await open(page, 'Inbox');
          const card = page.getByRole('listitem').filter({ hasText: 'QUESTION' });
          await card.getByRole('button', { name: /gpj/ }).waitFor();
          await nothingRan(page);
          await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}`);
          await page.getByRole('button', { name: 'Answer' }).click();
          const dialog = page.getByRole('dialog');
          await dialog.getByText('QUESTION').first().waitFor();
          await nothingRan(page);
          expect(await violations(page)).toEqual([]);
          await dialog.getByRole('radio', { name: 'Plain' }).check();
          await dialog.getByRole('button', { name: 'Answer' }).click();
          await dialog.waitFor({ state: 'detached' });
          // A name out of the address.
          await page.goto(`${stack.baseUrl}/console/routes/${encodeURIComponent('\u202Egpj <img src=x>')}`);
          await page.getByRole('alert').waitFor();
          await nothingRan(page);
          await page.keyboard.press('Control+k');
          await page.getByLabel('Command, session id or text').fill('\u202Egpj');
          await page.getByRole('option', { name: /gpj/ }).waitFor();
          await nothingRan(page);
        },
        { expected: [/status of 400/] },
      );
      await stack.waitForEnd(sessionId, { settled: true });
      expect(asked).toEqual([]);
    });

    it('of a question do nothing on the page behind its link', async () => {
      const choice = '<img src=x onerror="window.ran=1"> \u202Egpj.exe';
      model.next(callTool('clarify', { question: hostile('QUESTION'), choices: [choice, 'Plain'] }));
      const { sessionId } = await stack.post({ route: 'hostile', body: { text: hostile('LINKED') } });
      const link = await answerLink(sink, sessionId);
      await visit(async (page) => {
        await page.goto(link);
        await page.getByRole('heading', { name: /^LINKED/, level: 1 }).waitFor();
        await page.getByText('QUESTION').first().waitFor();
        await nothingRan(page);
        // Whatever it holds, the choice comes back as it was offered.
        await page.getByLabel(/gpj/).check();
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByRole('heading', { name: 'Thank you' }).waitFor();
      });
      await stack.waitForEnd(sessionId, { settled: true });
      const messages = model.requests.at(-1)?.body.messages as { role: string; content: string }[];
      expect(JSON.parse(messages.at(-1)?.content ?? '')).toEqual({ answer: choice });
      expect(asked).toEqual([]);
    });

    it('of a megabyte leave the page usable', async () => {
      // A webhook has at most 1 MiB.
      const long = 'word '.repeat(200_000);
      model.next(say(`ANSWER ${long}`));
      const { sessionId } = await stack.post({ route: 'hostile-long', body: { text: `LONG ${long}` } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(async (page) => {
        await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}?tab=transcript`);
        await page.getByRole('heading', { name: /^LONG/, level: 1 }).waitFor();
        await page
          .getByRole('tabpanel')
          .getByText(/^ANSWER word/)
          .waitFor();
        await page.getByRole('tab', { name: 'Events' }).click();
        await page.getByRole('tabpanel').getByText('session.created').first().waitFor();
        await open(page, 'Sessions');
        await page.getByRole('link', { name: /^LONG/ }).waitFor();
      });
    });
  });
}

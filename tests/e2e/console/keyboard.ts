import {
  callTools,
  eventually,
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
import { signedIn } from './visit.ts';

const COUNT = 3;

let model: ModelServer;
let sink: Sink;

export function keyboard(): void {
  addToStack(async () => {
    model = await startModelServer();
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return {
      models: { slow: modelAt(model) },
      agents: { slow: { kind: 'llm', model: 'slow' } },
      routes: { slow: testRoute(sink.url, { agent: 'slow', title: '{text}', interim: 'off' }) },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
  });

  describe('by the keyboard', () => {
    it('sessions are selected and cancelled, and the dialog counts those that were selected', async () => {
      model.behave(() => new Promise(() => {}));
      const texts = Array.from({ length: COUNT }, (_, index) => `slow ${index}`);
      const posted = await Promise.all(texts.map((text) => stack.post({ route: 'slow', body: { text } })));
      await eventually(async () => {
        const running = await stack.adminGet<{ items: unknown[] }>('/v1/sessions?route=slow&status=running');
        return running.items.length === COUNT;
      });
      await signedIn(async (page) => {
        await page.goto(`${stack.baseUrl}/console/sessions?route=slow`);
        await page.getByRole('link', { name: texts[0] ?? '' }).waitFor();
        for (let row = 0; row < COUNT; row += 1) {
          await page.keyboard.press('j');
          await focused(page, '.session-link');
          await page.keyboard.press('x');
        }
        await page.getByText(`${COUNT} selected`).waitFor();
        await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Cancel' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: `Cancel ${COUNT}` }).click();
        for (const { sessionId } of posted) await stack.waitForEnd(sessionId);
        // The rows behind it have ended, too, and would not fit any more.
        await page
          .locator('.session-row')
          .filter({ hasText: 'Cancelled' })
          .nth(COUNT - 1)
          .waitFor();
        await dialog.getByText(`${COUNT} done, 0 refused, of ${COUNT}`).waitFor();
        await dialog.getByRole('heading', { name: `Cancel ${COUNT} sessions` }).waitFor();
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        for (const key of ['k', 'x', 'k', 'x', 'r']) await page.keyboard.press(key);
        await page.getByRole('dialog', { name: 'Retry 2 sessions' }).waitFor();
        await page.goto(`${stack.baseUrl}/console/sessions/${posted[0]?.sessionId}`);
        await page.getByText('Cancelled by console').waitFor();
      });
    });

    it('a reader goes through the events of a session', async () => {
      const { sessionId } = await stack.post({ body: { text: 'for the keyboard' } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(async (page) => {
        await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}?tab=events`);
        await page.getByRole('button', { name: /session\.created/ }).waitFor();
        await page.keyboard.press('j');
        await page.keyboard.press('j');
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name: /turn\.requested/, expanded: true }).waitFor();
        await page.keyboard.press('/');
        await page.keyboard.type('session.ended');
        await page.getByText(/^1 of \d+ events$/).waitFor();
      });
    });
  });

  it('an address shows the step that it names, and Escape leads from its details back to it', async () => {
    // So many steps that the last is out of sight.
    const calls = Array.from({ length: 16 }, () => ({ name: 'no_such_tool', args: {} }));
    model.next(callTools(...calls), say('done'));
    const { sessionId } = await stack.post({ route: 'slow', body: { text: 'many steps' } });
    await stack.waitForEnd(sessionId, { settled: true });
    await signedIn(async (page) => {
      await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}`);
      await page.getByRole('row').first().waitFor();
      await page.keyboard.press('j');
      await focused(page, '.waterfall-row');
      await page.keyboard.press('End');
      await page.waitForURL(/step=attempt-/);
      await page.reload();
      await page.getByRole('row', { selected: true }).waitFor();
      await eventually(
        async () => Number(await page.evaluate(`document.querySelector('.waterfall-scroll').scrollTop`)) > 0,
      );
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Close the details' }).waitFor({ state: 'detached' });
      await focused(page, '[id^="step-attempt-"]');
    });
  });

  describe('a dialog', () => {
    it('of one session does not act on the session that "back" leads to', async () => {
      const texts = ['to come back to', 'to be erased'];
      const ids: string[] = [];
      for (const text of texts) {
        const { sessionId } = await stack.post({ body: { text } });
        await stack.waitForEnd(sessionId, { settled: true });
        ids.push(sessionId);
      }
      await signedIn(async (page) => {
        await page.goto(`${stack.baseUrl}/console/sessions/${ids[0]}`);
        await page.getByRole('button', { name: 'Erase' }).waitFor();
        await page.keyboard.press('Control+k');
        await page.getByLabel('Command, session id or text').fill(ids[1] ?? '');
        await page.keyboard.press('Enter');
        const main = page.getByRole('main');
        await main.getByText(ids[1] ?? '', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'Erase' }).click();
        await page.getByRole('dialog', { name: 'Erase this session?' }).waitFor();
        expect(await violations(page)).toEqual([]);
        await page.goBack();
        await main.getByText(ids[0] ?? '', { exact: true }).waitFor({ state: 'attached' });
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      });
    });

    it('begins in its field, gives the focus back, stays open when text in it is marked to beyond its edge, and closes by a click beside it', async () => {
      const { sessionId } = await stack.post({ body: { text: 'for the dialog' } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(async (page) => {
        await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}`);
        await page.getByRole('button', { name: 'Message' }).press('Enter');
        await focused(page, 'dialog textarea');
        await page.keyboard.press('Escape');
        await focused(page, 'button:text("Message")');
        await page.getByRole('button', { name: 'Message' }).click();
        const field = page.getByRole('dialog').getByLabel('Message');
        await field.fill('A long message');
        expect(await violations(page)).toEqual([]);
        const box = await field.boundingBox();
        if (box === null) throw new Error('the field is not shown');
        await page.mouse.move(box.x + 60, box.y + 12);
        await page.mouse.down();
        await page.mouse.move(4, box.y + 12);
        await page.mouse.up();
        expect(await field.inputValue()).toBe('A long message');
        await page.mouse.click(4, 4);
        await field.waitFor({ state: 'detached' });
      });
    });
  });
}

const focused = (page: Page, selector: string) => page.locator(`${selector}:focus`).waitFor();

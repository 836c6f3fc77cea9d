import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  callTool,
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
import { open, signedIn } from './visit.ts';

let sink: Sink;
let model: ModelServer;
let traces: string;

const fileOf = (name: string) => join(traces, name);
const timesRun = (name: string) =>
  existsSync(fileOf(name)) ? readFileSync(fileOf(name), 'utf8').trim().split('\n').length : 0;

/** A session whose agent wants to run this. Its title is the name. */
async function asked(name: string, { route = 'guarded', command = `echo ran >> ${fileOf(name)}` } = {}) {
  model.next(callTool('terminal', { command }), say('done'));
  const { sessionId } = await stack.post({ route, body: { text: name } });
  await eventually(async () =>
    (await stack.events(sessionId)).some(({ type }) => type === 'approval.requested'),
  );
  return sessionId;
}

const cardOf = (page: Page, name: string) =>
  page.getByRole('list', { name: 'Open approvals' }).getByRole('listitem').filter({ hasText: name });

/** What the model read as the result of its last call. */
const lastResult = () => {
  const messages = model.requests.at(-1)?.body.messages as { role: string; content: string }[];
  return JSON.parse(messages.findLast(({ role }) => role === 'tool')?.content ?? '{}');
};

export function approval(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    model = await startModelServer();
    traces = mkdtempSync(join(tmpdir(), 'angelia-approval-'));
    chmodSync(traces, 0o777);
    const route = testRoute(sink.url, { agent: 'guarded', title: '{text}' });
    return {
      models: { guarded: modelAt(model) },
      agents: {
        guarded: {
          kind: 'llm',
          model: 'guarded',
          toolsets: ['terminal'],
          tools: { policy: [{ tool: 'terminal', do: 'ask' }] },
        },
      },
      routes: {
        guarded: route,
        'guarded-short': { ...route, tools: { approval_expires_seconds: 0.01 } },
      },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
    if (traces !== undefined) rmSync(traces, { recursive: true, force: true });
  });

  describe('a tool call that needs an approval', () => {
    it('comes into the inbox by itself, is approved in place and runs once; another tab is told who was first', async () => {
      await signedIn(
        async (page) => {
          await open(page, 'Inbox');
          const late = await page.context().newPage();
          await late.goto(`${stack.baseUrl}/console/inbox`);
          const sessionId = await asked('Clean-up');
          for (const tab of [page, late]) await cardOf(tab, 'Clean-up').waitFor();
          await eventually(async () => (await page.title()).startsWith('(1)'));
          await cardOf(page, 'Clean-up')
            .getByText(`echo ran >> ${fileOf('Clean-up')}`, { exact: true })
            .waitFor();
          await cardOf(page, 'Clean-up').getByText('Denied by itself in').waitFor();
          // The other tab has pressed its button, and its call comes second.
          const first = Promise.withResolvers<void>();
          await late.route('**/v1/approvals/*', async (call) => {
            await first.promise;
            await call.continue();
          });
          await cardOf(late, 'Clean-up').getByRole('button', { name: 'Deny' }).click();
          await cardOf(page, 'Clean-up').getByRole('button', { name: 'Approve once' }).click();
          await cardOf(page, 'Clean-up').waitFor({ state: 'detached' });
          first.resolve();
          await cardOf(late, 'Clean-up')
            .getByRole('status')
            .getByText(/ approved it at /)
            .waitFor();
          expect(
            await cardOf(late, 'Clean-up')
              .getByRole('button', { name: /Approve|Deny/ })
              .count(),
          ).toBe(0);
          await eventually(async () => !(await page.title()).startsWith('('));
          await stack.waitForEnd(sessionId, { settled: true });
          expect(timesRun('Clean-up')).toBe(1);
          const decided = (await stack.events(sessionId)).filter(({ type }) => type === 'approval.decided');
          expect(decided.map(({ data }) => data)).toMatchObject([{ decision: 'approve', way: 'console' }]);
        },
        { expected: [/status of 409/] },
      );
    });

    it('that is denied by the keyboard, with a reason, does not run, and the model reads the reason', async () => {
      const sessionId = await asked('Deploy');
      await signedIn(async (page) => {
        await open(page, 'Inbox');
        await cardOf(page, 'Deploy').waitFor();
        await page.keyboard.press('j');
        await page.locator(':focus').filter({ hasText: 'Deploy' }).waitFor();
        await page.keyboard.press('Tab');
        await page.keyboard.press('Tab');
        await page.keyboard.type('not on a Friday');
        await page.keyboard.press('Enter');
        await cardOf(page, 'Deploy').waitFor({ state: 'detached' });
        await stack.waitForEnd(sessionId, { settled: true });
        expect(lastResult()).toMatchObject({ denied: true, reason: 'not on a Friday' });
        expect(timesRun('Deploy')).toBe(0);
        await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}?tab=transcript`);
        await page.getByText(/^denied by \S+: not on a Friday$/).waitFor();
        await page.getByRole('tab', { name: 'Timeline' }).click();
        await page.getByText('Waits for an approval').first().waitFor();
        await page.getByRole('tab', { name: 'Events' }).click();
        await page.getByText('approval.decided').waitFor();
      });
    });

    it('that nobody decided about in time is gone from the inbox, and its session says so', async () => {
      const sessionId = await asked('Too late', { route: 'guarded-short' });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(async (page) => {
        await page.goto(`${stack.baseUrl}/console/inbox?approval=${sessionId}.1`);
        await page.getByText('The request of this address is closed').waitFor();
        await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}?tab=transcript`);
        await page.getByText('not approved in time', { exact: true }).waitFor();
      });
      expect(timesRun('Too late')).toBe(0);
    });

    it('shows on a phone, from a link, what it really runs: whatever its text hides', async () => {
      const title = 'Look \u202Eat <img src=x onerror="window.ran=1">';
      const long = `${'x'.repeat(400)} שלום \u202Egpj\u200B.exe \u001b[2K`;
      const sessionId = await asked(title, { command: `: ${long} ${'y'.repeat(6_000)} # the end` });
      await signedIn(
        async (page) => {
          await page.goto(`${stack.baseUrl}/console/sessions/${sessionId}`);
          await page.getByRole('link', { name: 'Decide' }).click();
          const card = cardOf(page, 'Look');
          await card.getByText('\\u{202e}gpj\\u{200b}.exe \\u{1b}[2K').waitFor();
          // Nobody approves what he has not seen.
          const approve = card.getByRole('button', { name: 'Approve once' });
          expect(await approve.isDisabled()).toBe(true);
          await card.getByRole('button', { name: /^Show all of it/ }).click();
          await card.getByText('# the end').waitFor();
          expect(await approve.isEnabled()).toBe(true);
          const text = String(await page.evaluate('document.title + document.body.innerText'));
          expect(text).not.toMatch(/[\u200B\u202A-\u202E]/);
          expect(await page.evaluate('window.ran')).toBeUndefined();
          expect(Number(await page.evaluate('document.documentElement.scrollWidth'))).toBe(390);
          expect(await violations(page)).toEqual([]);
          await card.getByRole('button', { name: 'Deny' }).click();
          await card.waitFor({ state: 'detached' });
        },
        { viewport: { width: 390, height: 844 } },
      );
      await stack.waitForEnd(sessionId, { settled: true });
    });
  });
}

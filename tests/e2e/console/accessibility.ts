import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  answer,
  callTool,
  eventually,
  type ModelServer,
  type Sink,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import type { Page } from '@angelia/testkit/browser';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';
import { open, signedIn, visit } from './visit.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const VIEWS = ['Now', 'Sessions', 'Inbox', 'Deliveries', 'Webhooks', 'Routes', 'Processes', 'System'];

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

const PHONE = { width: 390, height: 844 };

/** A view is judged with its content. */
const loaded = (page: Page) => eventually(async () => (await page.getByText(/^Loading /).count()) === 0);

type Rules = 'all' | 'colours';

/** Everything that axe knows: WCAG 2.2 A and AA, and good practice. Of the dark theme, only the colours are another matter. */
export async function violations(page: Page, rules: Rules = 'all'): Promise<string[]> {
  await loaded(page);
  await page.evaluate(`window.axe === undefined && (() => { ${axe} })()`);
  const { violations: found } = (await page.evaluate(
    rules === 'all' ? 'axe.run()' : `axe.run({ runOnly: ['color-contrast'] })`,
  )) as { violations: Violation[] };
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html}\n${failureSummary}`),
  );
}

let gone: Sink;
let model: ModelServer;

/** Something for every view: an open question, a dead delivery, a webhook that started nothing. */
async function withData(body: () => Promise<void>): Promise<void> {
  model.next(callTool('clarify', { question: 'Is it **readable**?', choices: ['Yes', 'No'] }));
  const asks = await stack.post({ route: 'axe-asks', body: { text: 'asks' } });
  await stack.post({ route: 'axe-dead', body: { text: 'dead' } });
  await stack.post({ route: 'axe-asks', body: { text: 'ignored', action: 'no' } });
  await eventually(async () => {
    const { items: dead } = await stack.adminGet<{ items: unknown[] }>(
      '/v1/deliveries?status=dead&route=axe-dead',
    );
    const { items: open } = await stack.adminGet<{ items: unknown[] }>('/v1/questions?route=axe-asks');
    return dead.length > 0 && open.length > 0;
  });
  try {
    await body();
  } finally {
    await fetch(new URL(`/v1/sessions/${asks.sessionId}/cancel`, stack.baseUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.adminToken}` },
    });
    await stack.waitForEnd(asks.sessionId);
  }
}

export function accessibility(): void {
  addToStack(async () => {
    gone = await startSink({ secret: TEST_SINK_SECRET });
    gone.behave(answer(410));
    model = await startModelServer();
    return {
      models: { axe: modelAt(model) },
      agents: { axe: { kind: 'llm', model: 'axe', toolsets: ['clarify'] } },
      routes: {
        'axe-asks': testRoute(gone.url, {
          agent: 'axe',
          interim: 'off',
          filters: [{ not: { field: 'action', equals: 'no' } }],
        }),
        'axe-chat': testRoute(gone.url, { session_key: '{key}' }),
        'axe-dead': testRoute(gone.url, { deliver_only: true }),
      },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await gone?.stop();
  });

  describe.each([
    ['light', 'all'],
    ['dark', 'colours'],
  ] as const)('axe finds nothing (%s)', (colorScheme, rules) => {
    it('on the sign-in page', async () => {
      await visit(
        async (page) => {
          await page.goto(`${stack.baseUrl}/console`);
          await page.getByLabel('Admin token').waitFor();
          expect(await violations(page, rules)).toEqual([]);
        },
        { colorScheme, expected: [/status of 401 .*\/console\/session/] },
      );
    });

    it('on any view with something in it, and in dialogs', async () => {
      await withData(() =>
        signedIn(
          async (page) => {
            const found: Record<string, string[]> = {};
            for (const view of VIEWS) {
              await open(page, view);
              found[view] = await violations(page, rules);
            }
            await open(page, 'Inbox');
            await page.getByRole('button', { name: 'Yes' }).waitFor();
            await open(page, 'Deliveries');
            await page.getByRole('button', { name: 'Retry all dead that match' }).click();
            await page.getByRole('button', { name: /^Send .* again$/ }).waitFor();
            found.preview = await violations(page, rules);
            await page.keyboard.press('Escape');
            await page.getByRole('dialog').waitFor({ state: 'detached' });
            await page.keyboard.press('Control+k');
            await page.getByLabel('Command, session id or text').waitFor();
            found.palette = await violations(page, rules);
            await page.keyboard.press('Escape');
            await page.getByRole('dialog').waitFor({ state: 'detached' });
            await page.keyboard.press('?');
            await page.getByRole('dialog').waitFor();
            found.help = await violations(page, rules);
            expect(found).toEqual(
              Object.fromEntries([...VIEWS, 'preview', 'palette', 'help'].map((place) => [place, []])),
            );
          },
          { colorScheme },
        ),
      );
    });

    it('on any part of a session, and on a route', async () => {
      // Two turns, so that the transcript has everything twice.
      const key = randomUUID();
      const text = '# A title\n\n- with **Markdown**';
      await stack.post({ route: 'axe-chat', body: { text, key } });
      const { sessionId } = await stack.post({ route: 'axe-chat', body: { text, key } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(
        async (page) => {
          const found: string[] = [];
          for (const path of deepAddresses(sessionId)) {
            await page.goto(`${stack.baseUrl}/console${path}`);
            await page.getByRole('heading', { level: 1 }).waitFor();
            found.push(...(await violations(page, rules)).map((violation) => `${path}: ${violation}`));
          }
          expect(found).toEqual([]);
        },
        { colorScheme },
      );
    });
  });

  describe('on a phone', () => {
    it('no view is wider than the screen', async () => {
      const { sessionId } = await stack.post({ body: { text: 'on a phone' } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(
        async (page) => {
          const wide: string[] = [];
          const paths = VIEWS.map((view) => (view === 'Now' ? '' : `/${view.toLowerCase()}`));
          for (const path of [...paths, ...deepAddresses(sessionId)]) {
            await page.goto(`${stack.baseUrl}/console${path}`);
            await page.getByRole('heading', { level: 1 }).waitFor();
            await loaded(page);
            const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
            if (width > PHONE.width) wide.push(`${path}: ${width} px`);
          }
          expect(wide).toEqual([]);
        },
        { viewport: PHONE },
      );
    });
  });
}

const deepAddresses = (sessionId: string) => [
  ...['timeline', 'transcript', 'deliveries', 'processes', 'events', 'related'].map(
    (tab) => `/sessions/${sessionId}?tab=${tab}`,
  ),
  '/routes/hook',
  '/new-route',
];

import { randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
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

const VIEWS = [
  'Now',
  'Sessions',
  'Inbox',
  'Deliveries',
  'Webhooks',
  'Routes',
  'Chats',
  'Processes',
  'System',
];

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

const PHONE = { width: 390, height: 844 };

/** A view is judged with its content. */
const loaded = (page: Page) => eventually(async () => (await page.getByText(/^Loading /).count()) === 0);

/** What axe does in each theme. To collect what it is content with would cost as much as to find what it is not. */
const RUNS = {
  light: { resultTypes: ['violations'] },
  // The themes differ in colours, and in nothing else.
  dark: {
    resultTypes: ['violations'],
    runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
  },
} as const;
const THEMES = ['light', 'dark'] as const;

/**
 * Everything that axe knows: WCAG 2.2 A and AA, and good practice. In both themes of the same page, because to come to each place
 * again costs more than axe does. The second theme changes colours and nothing else.
 */
export async function violations(page: Page): Promise<string[]> {
  await loaded(page);
  if (await page.evaluate('window.axe === undefined')) await page.evaluate(`(() => { ${axe} })()`);
  const found: string[] = [];
  for (const colorScheme of THEMES) {
    // Without motion: half-way to a colour, its contrast is another.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(RUNS[colorScheme])})`)) as {
      violations: Violation[];
    };
    for (const { id, help, nodes } of violations)
      for (const { html, failureSummary } of nodes)
        found.push(`${colorScheme}: ${id} (${help}): ${html}\n${failureSummary}`);
  }
  return found;
}

let gone: Sink;
let model: ModelServer;

/** Something for every view: an open question, a call that needs an approval, a dead delivery, a webhook that started nothing. */
async function withData(body: () => Promise<void>): Promise<void> {
  model.next(callTool('terminal', { command: 'rm -rf build', cwd: 'x' }));
  const needs = await stack.post({ route: 'axe-needs', body: { text: 'needs' } });
  await eventually(async () => {
    const { items } = await stack.adminGet<{ items: unknown[] }>('/v1/approvals?route=axe-needs');
    return items.length > 0;
  });
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
    for (const { sessionId } of [asks, needs]) {
      await fetch(new URL(`/v1/sessions/${sessionId}/cancel`, stack.baseUrl), {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.adminToken}` },
      });
      await stack.waitForEnd(sessionId);
    }
    // The next test finds an empty inbox.
    for (const list of ['/v1/approvals?route=axe-needs', '/v1/questions?route=axe-asks']) {
      await eventually(async () => (await stack.adminGet<{ items: unknown[] }>(list)).items.length === 0);
    }
  }
}

export function accessibility(): void {
  addToStack(async () => {
    gone = await startSink({ secret: TEST_SINK_SECRET });
    gone.behave(answer(410));
    model = await startModelServer();
    return {
      models: { axe: modelAt(model) },
      agents: {
        axe: {
          kind: 'llm',
          model: 'axe',
          toolsets: ['clarify', 'terminal'],
          tools: { policy: [{ tool: 'terminal', match: 'rm *', do: 'ask' }], approvers: ['telegram:1'] },
        },
      },
      routes: {
        'axe-asks': testRoute(gone.url, {
          agent: 'axe',
          interim: 'off',
          filters: [{ not: { field: 'action', equals: 'no' } }],
        }),
        'axe-needs': testRoute(gone.url, { agent: 'axe', interim: 'off' }),
        'axe-chat': testRoute(gone.url, { session_key: '{key}' }),
        'axe-dead': testRoute(gone.url, { deliver_only: true }),
      },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await gone?.stop();
  });

  describe('axe finds nothing, light or dark', () => {
    it('on the sign-in page', async () => {
      await visit(
        async (page) => {
          await page.goto(`${stack.baseUrl}/console`);
          await page.getByLabel('Admin token').waitFor();
          expect(await violations(page)).toEqual([]);
        },
        { expected: [/status of 401 .*\/console\/session/] },
      );
    });

    it('on any view with something in it, and in dialogs', async () => {
      await withData(() =>
        signedIn(async (page) => {
          const found: Record<string, string[]> = {};
          for (const view of VIEWS) {
            await open(page, view);
            found[view] = await violations(page);
          }
          await open(page, 'Inbox');
          await page.getByRole('button', { name: 'Yes' }).waitFor();
          await page.getByRole('button', { name: 'Approve once' }).waitFor();
          await open(page, 'Deliveries');
          await page.getByRole('button', { name: 'Retry all dead that match' }).click();
          await page.getByRole('button', { name: /^Send .* again$/ }).waitFor();
          found.preview = await violations(page);
          await page.keyboard.press('Escape');
          await page.getByRole('dialog').waitFor({ state: 'detached' });
          await page.keyboard.press('Control+k');
          await page.getByLabel('Command, session id or text').waitFor();
          found.palette = await violations(page);
          await page.keyboard.press('Escape');
          await page.getByRole('dialog').waitFor({ state: 'detached' });
          await page.keyboard.press('?');
          await page.getByRole('dialog').waitFor();
          found.help = await violations(page);
          expect(found).toEqual(
            Object.fromEntries([...VIEWS, 'preview', 'palette', 'help'].map((place) => [place, []])),
          );
        }),
      );
    });

    it('on any part of a session, and on a route', async () => {
      // Two turns, so that the transcript has everything twice.
      const key = randomUUID();
      const text = '# A title\n\n- with **Markdown**';
      await stack.post({ route: 'axe-chat', body: { text, key } });
      const { sessionId } = await stack.post({ route: 'axe-chat', body: { text, key } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(async (page) => {
        const found: string[] = [];
        for (const path of deepAddresses(sessionId)) {
          await page.goto(`${stack.baseUrl}/console${path}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          found.push(...(await violations(page)).map((violation) => `${path}: ${violation}`));
        }
        expect(found).toEqual([]);
      });
    });
  });

  it('charts have the colours of the theme that the system switches to', async () => {
    await signedIn(async (page) => {
      const colour = () =>
        page.evaluate(
          `[...document.querySelectorAll('.u-marker')].map(({ style }) => style.borderColor).join()`,
        );
      await page.emulateMedia({ colorScheme: 'light' });
      await page.locator('.u-legend').nth(1).waitFor({ state: 'attached' });
      const light = await colour();
      await page.emulateMedia({ colorScheme: 'dark' });
      await eventually(async () => (await colour()) !== light);
    });
  });

  describe('on a phone', () => {
    it('no view is wider than the screen, and none without an editor loads more than 200 kB of scripts, gzipped', async () => {
      const { sessionId } = await stack.post({ body: { text: 'on a phone' } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(
        async (page) => {
          const wide: string[] = [];
          const heavy: string[] = [];
          const paths = VIEWS.map((view) => (view === 'Now' ? '' : `/${view.toLowerCase()}`));
          for (const path of [...paths, ...deepAddresses(sessionId)]) {
            await page.goto(`${stack.baseUrl}/console${path}`);
            await page.getByRole('heading', { level: 1 }).waitFor();
            await loaded(page);
            const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
            if (width > PHONE.width) wide.push(`${path}: ${width} px`);
            const bytes = await scriptBytes(page);
            if (bytes > MOST_SCRIPT_BYTES && !WITH_EDITOR.includes(path))
              heavy.push(`${path}: ${bytes} bytes`);
          }
          expect({ wide, heavy }).toEqual({ wide: [], heavy: [] });
        },
        { viewport: PHONE },
      );
    });
  });
}

const MOST_SCRIPT_BYTES = 200_000;
const BUNDLE = join(import.meta.dirname, '../../../libs/console/dist');

/** What this page has loaded since it was opened, from the cache or not, as it is sent to a browser that takes gzip. */
async function scriptBytes(page: Page): Promise<number> {
  const urls = (await page.evaluate(
    `performance.getEntriesByType('resource').map(({ name }) => name)`,
  )) as string[];
  const scripts = urls.map((url) => new URL(url).pathname).filter((path) => path.endsWith('.js'));
  if (scripts.length === 0) throw new Error('the page has no scripts');
  return [...new Set(scripts)].reduce(
    (sum, path) => sum + statSync(join(BUNDLE, `${path.replace('/console/', '')}.gz`)).size,
    0,
  );
}

/** Their editor is loaded when they are opened, and nowhere else. */
const WITH_EDITOR = ['/routes/hook', '/new-route'];

const deepAddresses = (sessionId: string) => [
  ...['timeline', 'transcript', 'deliveries', 'processes', 'events', 'related'].map(
    (tab) => `/sessions/${sessionId}?tab=${tab}`,
  ),
  ...WITH_EDITOR,
  '/no-such-page',
];

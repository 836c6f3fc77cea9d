import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { eventually } from '@angelia/testkit';
import type { Page } from '@angelia/testkit/browser';
import { describe, expect, it } from '@jest/globals';
import { stack } from '../shared-stack.ts';
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

/** Everything that axe knows: WCAG 2.2 A and AA, and good practice. */
async function violations(page: Page): Promise<string[]> {
  await loaded(page);
  await page.evaluate(`window.axe === undefined && (() => { ${axe} })()`);
  const { violations: found } = (await page.evaluate('axe.run()')) as { violations: Violation[] };
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html}\n${failureSummary}`),
  );
}

export function accessibility(): void {
  describe.each(['light', 'dark'] as const)('axe finds nothing (%s)', (colorScheme) => {
    it('on the sign-in page', async () => {
      await visit(
        async (page) => {
          await page.goto(`${stack.baseUrl}/console`);
          await page.getByLabel('Admin token').waitFor();
          expect(await violations(page)).toEqual([]);
        },
        { colorScheme, expected: [/status of 401 .*\/console\/session/] },
      );
    });

    it('on any view', async () => {
      await signedIn(
        async (page) => {
          const found: Record<string, string[]> = {};
          for (const view of VIEWS) {
            await open(page, view);
            found[view] = await violations(page);
          }
          expect(found).toEqual(Object.fromEntries(VIEWS.map((view) => [view, []])));
        },
        { colorScheme },
      );
    });

    it('on any part of a session, and on a route', async () => {
      const { sessionId } = await stack.post({ body: { text: '# A title\n\n- with **Markdown**' } });
      await stack.waitForEnd(sessionId, { settled: true });
      await signedIn(
        async (page) => {
          const found: string[] = [];
          for (const path of deepAddresses(sessionId)) {
            await page.goto(`${stack.baseUrl}/console${path}`);
            await page.getByRole('heading', { level: 1 }).waitFor();
            found.push(...(await violations(page)).map((violation) => `${path}: ${violation}`));
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

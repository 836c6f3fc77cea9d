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

/** Everything that axe knows: WCAG 2.2 A and AA, and good practice. */
export async function violations(page: Page): Promise<string[]> {
  // A view is judged with its content.
  await eventually(async () => (await page.getByText(/^Loading /).count()) === 0);
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
  });
}

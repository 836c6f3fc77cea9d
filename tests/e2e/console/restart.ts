import type { Page } from '@angelia/testkit/browser';
import { describe, expect, it } from '@jest/globals';
import { stack } from '../shared-stack.ts';
import { open, signedIn } from './visit.ts';

/** What a browser logs by itself while nobody listens, or while ingress drains or starts. */
const AWAY = /net::ERR_|status of 503/;

const liveMark = (page: Page, text: string | RegExp) =>
  page.getByRole('navigation', { name: 'Views', exact: true }).getByRole('status').filter({ hasText: text });

export function restart(): void {
  describe('a page that is open while the server restarts', () => {
    it('says so, recovers by itself, and the person is still signed in', async () => {
      await signedIn(
        async (page) => {
          await open(page, 'Sessions');
          await liveMark(page, /^Live$/).waitFor();
          await page.evaluate('window.sameDocument = true');
          await stack.hold('ingress');
          await liveMark(page, 'Reconnecting').waitFor();
          await stack.resume('ingress');
          await liveMark(page, /^Live$/).waitFor();
          expect(await page.evaluate('window.sameDocument')).toBe(true);
          await open(page, 'System');
          await page.reload();
          await page.getByRole('heading', { name: 'System', level: 1 }).waitFor();
        },
        { expected: [AWAY] },
      );
    });
  });
}

import { describe, expect, it } from '@jest/globals';
import { stack } from '../shared-stack.ts';
import { open, signedIn, signInLink, visit } from './visit.ts';

/** The browser's own words for an answer of 401, which is what these tests are about. */
const REFUSED = /status of 401 .*\/console\/session/;

export function signIn(): void {
  describe('signing in to the console', () => {
    it('by a link works once; the code stays neither in the address nor in the history', async () => {
      const link = await signInLink();
      const code = new URL(link).hash.slice(1);
      await visit(
        async (page) => {
          await page.goto(link);
          await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
          expect(page.url()).toBe(`${stack.baseUrl}/console/`);
          await page.goBack();
          expect(page.url()).not.toContain(code);
          const [cookie] = await page.context().cookies();
          expect(cookie).toMatchObject({
            name: 'angelia_session',
            httpOnly: true,
            sameSite: 'Strict',
            path: '/',
          });
          // A second time in the same browser, it leads to where the first has led.
          await page.goto(link);
          await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
        },
        { expected: [REFUSED] },
      );
      await visit(
        async (page) => {
          await page.goto(link);
          await page.getByRole('alert').getByText('angelia console').waitFor();
          await page.goto(`${stack.baseUrl}/console/sessions`);
          await page.getByLabel('Admin token').waitFor();
          expect(await page.context().cookies()).toEqual([]);
        },
        { expected: [REFUSED] },
      );
    });

    it('by the admin token leads back to where one wanted to go, and the token is kept nowhere', async () => {
      await visit(
        async (page) => {
          await page.goto(`${stack.baseUrl}/console/sessions`);
          await page.getByLabel('Admin token').fill('not the token');
          await page.getByRole('button', { name: 'Sign in' }).click();
          await page.getByRole('alert').waitFor();
          await page.getByLabel('Admin token').fill(stack.adminToken);
          await page.getByRole('button', { name: 'Sign in' }).click();
          await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
          const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';
          expect(await page.evaluate(kept)).not.toContain(stack.adminToken);
          // A reload finds the session by its cookie.
          await page.reload();
          await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
        },
        { expected: [REFUSED] },
      );
    });

    it('ends with signing out, also for the cookie and in other tabs, whichever of them signed in last', async () => {
      await signedIn(
        async (page) => {
          const other = await page.context().newPage();
          await other.goto(await signInLink());
          await other.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
          await open(other, 'Sessions');
          const [cookie] = await page.context().cookies();
          await page.getByRole('button', { name: /^Sign out/ }).click();
          await page.getByLabel('Admin token').waitFor();
          const again = await fetch(new URL('/v1/sessions', stack.baseUrl), {
            headers: { cookie: `${cookie?.name}=${cookie?.value}` },
          });
          expect(again.status).toBe(401);
          await other.getByLabel('Admin token').waitFor();
          // Signed in by one tab, the other goes on where it was as soon as somebody looks at it.
          await page.getByLabel('Admin token').fill(stack.adminToken);
          await page.getByRole('button', { name: 'Sign in' }).click();
          await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
          await other.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
          await other.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
        },
        // 403: the token of the tab was that of the session before.
        { expected: [/status of 401/, /status of 403 .*\/console\/session/] },
      );
    });

    it('is not needed twice in one browser: a view is opened by its address', async () => {
      await signedIn(async (page) => {
        await open(page, 'System');
        const other = await page.context().newPage();
        await other.goto(page.url());
        await other.getByRole('heading', { name: 'System', level: 1 }).waitFor();
      });
    });
  });
}

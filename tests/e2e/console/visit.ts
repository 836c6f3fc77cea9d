import { eventually, type Sink } from '@angelia/testkit';
import { type Page, startTestBrowser, type TestBrowser, type VisitOptions } from '@angelia/testkit/browser';
import { afterAll, beforeAll } from '@jest/globals';
import { stack } from '../shared-stack.ts';

/** To fetch 70 MB over a slow line, on a fresh machine. */
const FETCH_MS = 15 * 60_000;

type Visit = TestBrowser['visit'];

let browser: TestBrowser;

/** For the test file: one browser for all its subjects. */
export function shareBrowser(): void {
  beforeAll(async () => {
    browser = await startTestBrowser((line) => process.stderr.write(`angelia: ${line}\n`));
  }, FETCH_MS);
  afterAll(() => browser?.stop());
}

/** A browser that nobody signed in. */
export const visit: Visit = (body, options) => browser.visit(body, options);

/** A link, from the text that `npm start` prints. */
export async function signInLink(): Promise<string> {
  const printed = await stack.banner();
  const link = /^ {2}console +(\S+#\S+)$/m.exec(printed)?.[1];
  if (link === undefined) throw new Error(`no link in:\n${printed}`);
  return link;
}

/** A browser that a link has signed in. It shows the view Now. */
export const signedIn = (body: (page: Page) => Promise<void>, options?: VisitOptions): Promise<void> =>
  browser.visit(async (page) => {
    await page.goto(await signInLink());
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    await body(page);
  }, options);

/** Goes to a view as a person does. */
export async function open(page: Page, view: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Views', exact: true })
    .getByRole('link', { name: view })
    .click();
  await page.getByRole('heading', { name: view, level: 1 }).waitFor();
}

/** The link of a session's question, from the message that brought it. */
export async function answerLink(sink: Sink, sessionId: string): Promise<string> {
  const message = await eventually(() => sink.taken(sessionId).find(({ payload }) => payload.clarification));
  const link = /http\S+\/answers\/\S+$/.exec(message.payload.text)?.[0];
  if (link === undefined) throw new Error(`no link in: ${message.payload.text}`);
  return link;
}

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '@angelia/local';
import {
  type BrowserContext,
  type BrowserContextOptions,
  type BrowserServer,
  chromium,
  type Page,
} from 'playwright-core';

export type { Page };

export interface VisitOptions
  extends Pick<BrowserContextOptions, 'colorScheme' | 'viewport' | 'reducedMotion'> {
  /** Problems that the test causes on purpose, such as a refused sign-in. Every other problem fails the test. */
  readonly expected?: readonly RegExp[];
}

export interface TestBrowser {
  readonly version: string;
  readonly pid: number;
  /**
   * Runs a test in a context of its own: cookies, storage and cache are empty. It fails if the page does what no page of ours
   * may do: log an error, throw, break its Content-Security-Policy, or ask anything but loopback. It fails at once: a page
   * that broke may never show what the test waits for.
   */
  visit(body: (page: Page) => Promise<void>, options?: VisitOptions): Promise<void>;
  /** Ends every process of the browser, also if it hangs. */
  stop(): Promise<void>;
}

/** A page waits for its stack. Generous, as `eventually` is: a slow machine must not make a test fail. */
const WAIT_MS = 120_000;
/** Ending takes 0.1 s. A browser that hangs is killed after this long. */
const CLOSE_MS = 10_000;

const OPTIONS = [
  // A sandbox needs namespaces, which containers and root do not have. The pages are ours.
  '--no-sandbox',
  '--disable-gpu',
  // No request of the browser itself: updates, sync, field trials.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Not even a prefetched name leaves the machine.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** One for each test file. */
export async function startTestBrowser(say: (line: string) => void = () => {}): Promise<TestBrowser> {
  const { executable, env } = await findChromium(say);
  // A server, and not `launch`, because only a server tells the pid. The browser listens on a pipe, so it also ends when this
  // process is killed.
  const server = await chromium.launchServer({
    executablePath: executable,
    args: OPTIONS,
    env: { ...process.env, ...env },
    host: '127.0.0.1',
    timeout: WAIT_MS,
  });
  const pid = server.process().pid as number;
  try {
    const browser = await chromium.connect(server.wsEndpoint());
    return {
      version: browser.version(),
      pid,
      async visit(body, { expected = [], ...options } = {}) {
        const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options });
        context.setDefaultTimeout(WAIT_MS);
        const problems: string[] = [];
        const broke = Promise.withResolvers<void>();
        await watchFor(context, (problem) => {
          if (expected.some((pattern) => pattern.test(problem))) return;
          problems.push(problem);
          broke.resolve();
        });
        const page = await context.newPage();
        let failure: unknown;
        try {
          await Promise.race([body(page), broke.promise]);
        } catch (error) {
          failure = error ?? new Error('the test threw nothing');
        }
        const failed = () => failure !== undefined || problems.length > 0;
        const pictures = failed() ? await screenshots(context) : [];
        await context.close();
        // Only now, because a page may also do something as it is closed.
        if (!failed()) return;
        const what = failure === undefined ? 'the page did what it must not do' : messageOf(failure);
        throw new Error([what, ...problems, ...pictures].join('\n'), { cause: failure });
      },
      stop: () => end(server, pid),
    };
  } catch (error) {
    await end(server, pid);
    throw error;
  }
}

/** Name of a function in every page. */
const REPORT = 'angeliaReportsViolation';

/** Notes what no page may do, for all pages of the context. */
async function watchFor(context: BrowserContext, note: (problem: string) => void): Promise<void> {
  context.on('console', (message) => {
    const { url } = message.location();
    if (message.type() === 'error') note(`console error: ${message.text()} (${url})`);
  });
  context.on('weberror', (error) => note(`uncaught: ${error.error().message}`));
  const checkAddress = (url: string) => {
    const { protocol, hostname } = new URL(url);
    if (/^(https?|wss?):$/.test(protocol) && !LOOPBACK.has(hostname))
      note(`request that leaves loopback: ${url}`);
  };
  context.on('request', (request) => checkAddress(request.url()));
  context.on('page', (page) => page.on('websocket', (socket) => checkAddress(socket.url())));
  await context.exposeBinding(REPORT, (_source, violation: string) => {
    note(`against the Content-Security-Policy: ${violation}`);
  });
  await context.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) => {
      ${REPORT}(event.effectiveDirective + ' ' + event.blockedURI);
    });`,
  });
}

/** What the browser showed when the test failed. */
async function screenshots(context: BrowserContext): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'angelia-screenshots-'));
  const taken = context.pages().map((page, index) => {
    const path = join(directory, `page-${index + 1}.png`);
    // A page that hangs has none. The failure of the test counts.
    return page.screenshot({ path, fullPage: true, timeout: CLOSE_MS }).then(
      () => `${page.url()}: ${path}`,
      (error: unknown) => `${page.url()}: no screenshot (${messageOf(error)})`,
    );
  });
  return Promise.all(taken);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function end(server: BrowserServer, pid: number): Promise<void> {
  // The browser leads a process group with all its helpers.
  const timer = setTimeout(() => killGroup(pid), CLOSE_MS);
  await server.close();
  clearTimeout(timer);
  killGroup(pid);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

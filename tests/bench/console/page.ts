import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, TestBrowser } from '@angelia/testkit/browser';
import { pause } from '@angelia/waiting';

const BUNDLE = join(import.meta.dirname, '../../../libs/console/dist');
/** Over this, a frame is seen as a jerk. Chromium reports such frames itself (`long-animation-frame`). */
export const LONG_FRAME_MS = 50;
/** A list that has not come to its end by then is measured as far as it came. */
const LOAD_LIST_MS = 90_000;

interface Place {
  readonly url: string;
  readonly token: string;
}

/** Opens a page in a browser that is signed in and has nothing in its cache. */
export async function coldVisit(
  browser: TestBrowser,
  { url, token }: Place,
  body: (page: Page) => Promise<void>,
): Promise<void> {
  await browser.visit(
    async (page) => {
      const { headers } = await signIn(url, token);
      const [name = '', value = ''] = (headers.getSetCookie()[0] ?? '').split(';')[0]?.split('=') ?? [];
      await page.context().addCookies([{ name, value, url }]);
      await body(page);
    },
    { viewport: { width: 1280, height: 800 } },
  );
}

const signIn = (url: string, token: string) =>
  fetch(new URL('/console/session', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });

/** Milliseconds from the start of the navigation until the first element of that kind has been painted. */
export async function paintedAfter(page: Page, address: string, selector: string): Promise<number> {
  await page.addInitScript({
    content: `window.painted = new Promise((resolve) => {
      const look = () => requestAnimationFrame(() => {
        if (document.querySelector(${JSON.stringify(selector)}) === null) return look();
        // The frame in which it is there is painted before the next one begins.
        requestAnimationFrame(() => resolve(performance.now()));
      });
      look();
    });`,
  });
  await page.goto(address, { waitUntil: 'commit' });
  return Number(await page.evaluate('window.painted'));
}

/** Bytes of the scripts that a first visit loads, gzipped. */
export async function scriptsOfFirstVisit(page: Page, address: string): Promise<number> {
  const scripts = new Set<string>();
  page.on('request', (request) => {
    if (request.resourceType() === 'script') scripts.add(new URL(request.url()).pathname);
  });
  await page.goto(address);
  await page.locator('[data-row]').first().waitFor();
  return [...scripts].reduce(
    (sum, path) => sum + statSync(join(BUNDLE, `${path.replace('/console/', '')}.gz`)).size,
    0,
  );
}

export interface Scrolled {
  readonly rows: number;
  readonly frames: number;
  /** Milliseconds between two frames. */
  readonly longestInterval: number;
  /** As Chromium reports them: frames that took more than 50 ms by the clock, also if other programs had the cores. */
  readonly longFrames: readonly number[];
  /** The most CPU time, in milliseconds, that the page's main thread used for a step of the scroll and its frames. */
  readonly mostCpu: number;
}

/** Loads the list to its end, then scrolls through all of it, up and down again. */
export async function scrollThrough(page: Page): Promise<Scrolled> {
  const rows = await loadWholeList(page);
  const measured = (await page.evaluate(`(async () => {
    const scroller = document.querySelector('.session-scroll');
    const longFrames = [];
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longFrames.push(duration);
    });
    const intervals = [];
    let last = await new Promise(requestAnimationFrame);
    observer.observe({ type: 'long-animation-frame' });
    const frame = async () => {
      const now = await new Promise(requestAnimationFrame);
      intervals.push(now - last);
      last = now;
    };
    const end = scroller.scrollHeight;
    // A wheel moves by some hundred pixels a frame, a dragged bar by whole screens.
    for (let n = 0; n < 400; n += 1) { scroller.scrollTop -= 240; await frame(); }
    for (let n = 0; n < 200; n += 1) { scroller.scrollTop = end * (1 - n / 200); await frame(); }
    for (let n = 0; n < 400; n += 1) { scroller.scrollTop += 240; await frame(); }
    await new Promise((resolve) => setTimeout(resolve, 200));
    observer.disconnect();
    return { frames: intervals.length, longestInterval: Math.max(...intervals), longFrames };
  })()`)) as Omit<Scrolled, 'rows' | 'mostCpu'>;
  return { rows, ...measured, mostCpu: await mostCpuOfAStep(page) };
}

/** Whole screens are new in each step. */
async function mostCpuOfAStep(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const used = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
  };
  let most = 0;
  for (let step = 1; step <= 100; step += 1) {
    const before = await used();
    await page.evaluate(`(async () => {
      const scroller = document.querySelector('.session-scroll');
      scroller.scrollTop = scroller.scrollHeight * ${step / 100};
      for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    })()`);
    most = Math.max(most, (await used()) - before);
  }
  return most;
}

async function loadWholeList(page: Page): Promise<number> {
  const deadline = performance.now() + LOAD_LIST_MS;
  const rowsAt = async () =>
    (await page.evaluate(`(() => {
      const scroller = document.querySelector('.session-scroll');
      scroller.scrollTop = scroller.scrollHeight;
      const last = document.querySelector('[data-row]:last-child');
      return { total: Number(last?.getAttribute('aria-setsize')), shown: Number(last?.dataset.row) + 1 };
    })()`)) as { total: number; shown: number };
  for (;;) {
    const { total, shown } = await rowsAt();
    if (total > 0 || performance.now() > deadline) return Math.max(total, shown);
    await pause(50);
  }
}

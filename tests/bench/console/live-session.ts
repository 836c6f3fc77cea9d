import type { Stack } from '@angelia/local';
import { callTool, type ModelServer, say } from '@angelia/testkit';
import type { Page } from '@angelia/testkit/browser';
import { pause } from '@angelia/waiting';
import { Client, signedPost } from '../load.ts';

/** Each is three events: the model's answer, the start of a command, its end. */
const STEPS = 30;

interface LiveSessionOptions {
  readonly stack: Stack;
  readonly model: ModelServer;
  readonly route: string;
  readonly secret: string;
  readonly get: <T>(path: string) => Promise<T>;
}

interface Listed {
  readonly items: readonly { readonly id: string; readonly status: string }[];
}

/**
 * For each event of a session that runs while its page is open: milliseconds from `recorded_at`, which is just before the
 * commit, to the frame that shows it. The browser and Postgres have the same clock.
 */
export async function shownAfter(page: Page, options: LiveSessionOptions): Promise<readonly number[]> {
  const { stack, model, route, secret, get } = options;
  const watched = Promise.withResolvers<void>();
  model.behave(async ({ results }) => {
    await watched.promise;
    return results.length < STEPS ? callTool('terminal', { command: 'sleep 0.1' }) : say('Done.');
  });
  const deliveryId = `live-${Date.now()}`;
  const client = new Client(stack.url, 1, route);
  const status = await client.post(signedPost(secret, deliveryId));
  await client.close();
  if (status !== 202) throw new Error(`POST answered ${status} instead of 202`);
  const id = await running(get, route);
  await page.goto(`${stack.url}/console/sessions/${id}?tab=events`);
  await page.getByText(/^\d+ of \d+ events$/).waitFor();
  const before = Number(await page.evaluate(WATCH));
  watched.resolve();
  for (;;) {
    const { status } = await get<{ status: string }>(`/v1/sessions/${id}`);
    if (status === 'ended') break;
    await pause(200);
  }
  // What is shown late is seen late.
  await pause(2_000);
  const shown = (await page.evaluate('window.shownEvents')) as readonly { count: number; at: number }[];
  const { items } = await get<{ items: readonly { version: number; recorded_at: string }[] }>(
    `/v1/sessions/${id}/events`,
  );
  return items
    .filter(({ version }) => version > before)
    .map(({ version, recorded_at }) => {
      const first = shown.find(({ count }) => count >= version);
      return first === undefined ? Number.POSITIVE_INFINITY : first.at - Date.parse(recorded_at);
    });
}

async function running(get: LiveSessionOptions['get'], route: string): Promise<string> {
  for (;;) {
    const { items } = await get<Listed>(`/v1/sessions?route=${route}&status=running`);
    if (items[0] !== undefined) return items[0].id;
    await pause(50);
  }
}

/** Notes when the number of events that the page shows has grown, in the frame after the one that has it. */
const WATCH = `(() => {
  const shown = [];
  const countOf = () => Number(/of (\\d+) events/.exec(document.body.textContent)?.[1]);
  let last = countOf();
  const before = last;
  new MutationObserver(() => {
    const count = countOf();
    if (!(count > last)) return;
    last = count;
    requestAnimationFrame(() => requestAnimationFrame(() => shown.push({ count, at: Date.now() })));
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
  window.shownEvents = shown;
  return before;
})()`;

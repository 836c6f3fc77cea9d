// `npm run screenshots`: writes the pictures of the console in docs/images. A stack of its own tells a short story: a few
// routes, sessions in every state, a question, a dead delivery. The model and the platforms are stand-ins.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  callTool,
  eventually,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  testConfig,
  testRoute,
} from '@angelia/testkit';
import { type Page, startTestBrowser } from '@angelia/testkit/browser';

const images = join(import.meta.dirname, '../../docs/images');
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const REVIEW = `Two things before this is merged:

1. \`retryAt\` is computed **before** the lease is renewed, so a slow renewal shortens the wait.
2. The jitter has no upper bound. \`Math.min(delay, MAX_DELAY_MS)\` keeps it within the schedule.

The tests are green (214 passed).`;

const PULL_REQUESTS = [
  'PR #482: retry webhooks with jitter',
  'PR #481: renew the lease before its last third',
  'PR #479: sort the dead letters by time',
  'PR #478: name the platform in every error',
];

const model = await startModelServer();
const sink = await startSink({ secret: TEST_SINK_SECRET });
const down = await startSink({ secret: TEST_SINK_SECRET });
down.behave({ kind: 'answer', status: 410, body: '{"error":"this channel was archived"}' });
/** Never answered, so that one session is seen at work. */
const thinking = new Promise<never>(() => {});
model.behave(async ({ input, results }) => {
  if (input.includes('Deploy'))
    return callTool('clarify', {
      question: 'Deploy 2026.11.3 to production now?',
      choices: ['Yes', 'Wait for the morning'],
    });
  if (input.includes('#482') && results.length === 1) return thinking;
  if (results.length === 0) return callTool('terminal', { command: 'echo "214 passed in 31 s"' });
  return { ...say(REVIEW), usage: { input: 8_412, output: 164 } };
});
const modelOf = { provider: 'openai-compatible', base_url: model.baseUrl, model: 'm1', api_key: 'key' };
const stack = await startTestStack({
  config: testConfig({
    sinkUrl: sink.url,
    models: { sonnet: modelOf },
    agents: {
      reviewer: { kind: 'llm', model: 'sonnet', toolsets: ['terminal'] },
      release: { kind: 'llm', model: 'sonnet', toolsets: ['clarify'] },
    },
    routes: {
      'github-pr': testRoute(sink.url, {
        agent: 'reviewer',
        title: '{text}',
        filters: [{ field: 'action', equals: 'opened' }],
      }),
      releases: testRoute(sink.url, { agent: 'release', title: '{text}' }),
      alerts: testRoute(down.url, { deliver_only: true, title: '{text}' }),
    },
  }),
});
const browser = await startTestBrowser();

try {
  for (const text of PULL_REQUESTS.toReversed()) {
    const { sessionId } = await stack.post({
      route: 'github-pr',
      body: { text, action: 'opened' },
      event: 'pull_request',
    });
    if (!text.includes('#482')) await stack.waitForEnd(sessionId, { settled: true });
  }
  await stack.post({
    route: 'github-pr',
    body: { text: 'PR #477: wip', action: 'closed' },
    event: 'pull_request',
  });
  for (const text of ['Disk of db-2 is 91 % full', 'p99 of checkout over 2 s'])
    await stack.waitForEnd((await stack.post({ route: 'alerts', body: { text } })).sessionId, {
      settled: true,
    });
  const question = await stack.post({ route: 'releases', body: { text: 'Deploy 2026.11.3' } });
  await eventually(async () => (await stack.session(question.sessionId)).status === 'waiting');
  await eventually(() => model.inFlight() === 1);
  await mkdir(images, { recursive: true });
  await take('console-now-light', { colorScheme: 'light', viewport: DESKTOP }, chartsDrawn);
  await take('console-session-dark', { colorScheme: 'dark', viewport: DESKTOP }, openReviewed);
  await take('console-session-phone', { colorScheme: 'dark', viewport: PHONE }, openReviewed);
} finally {
  await browser.stop();
  await stack.stop();
  await Promise.all([model.stop(), sink.stop(), down.stop()]);
}

type Look = NonNullable<Parameters<typeof browser.visit>[1]>;

async function take(name: string, look: Look, go: (page: Page) => Promise<void>): Promise<void> {
  await browser.visit(
    async (page) => {
      await page.goto(await signInLink());
      await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
      await go(page);
      // Charts and lists have their data when nothing is being loaded.
      await eventually(async () => (await page.getByText(/^Loading /).count()) === 0);
      await page.screenshot({ path: join(images, `${name}.png`), animations: 'disabled' });
    },
    { ...look, reducedMotion: 'reduce' },
  );
  process.stderr.write(`angelia: docs/images/${name}.png\n`);
}

/** The library of the charts is loaded when the view is open. */
async function chartsDrawn(page: Page): Promise<void> {
  await eventually(async () => (await page.locator('canvas').count()) === 2);
}

async function openReviewed(page: Page): Promise<void> {
  const { items } = await stack.adminGet<{ items: { id: string; title: string }[] }>(
    '/v1/sessions?title=%23481',
  );
  await page.goto(`${stack.baseUrl}/console/sessions/${items[0]?.id}`);
  await page.getByRole('heading', { name: /#481/ }).first().waitFor();
}

async function signInLink(): Promise<string> {
  const response = await fetch(new URL('/v1/console/links', stack.baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });
  return ((await response.json()) as { url: string }).url;
}

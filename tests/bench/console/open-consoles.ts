// Consoles that show the view Now, as the stack sees them: each has a session by cookie, the live feed, and the calls that the
// page makes on its own and after events. They run in a process of their own, because 20 browsers belong on 20 machines: on
// this one they would only take its cores. For the same reason they step back for everything else (nice 19).
// Usage: open-consoles.ts <url> <admin token> <how many>

import { setPriority } from 'node:os';
import { request } from 'undici';

const [url = '', token = '', count = '1'] = process.argv.slice(2);

/** As in libs/console/src: views/now/now.view.tsx, views/now/health.tsx, app/shell/open-requests.ts. */
const OVERVIEW = { path: '/v1/overview', pollMs: 15_000, afterEventsMs: 2_000 };
const SYSTEM = { path: '/v1/system', pollMs: 10_000 };
const QUESTIONS = { path: '/v1/questions?count=true&limit=1', pollMs: 60_000, afterEventsMs: 1_000 };
const APPROVALS = { ...QUESTIONS, path: '/v1/approvals?count=true&limit=1' };
/** None is open in the bench: then the end of a session changes nothing (app/shell/request-events.ts). */
const CHANGES_REQUESTS = /"type":"(clarification|approval)\./;

async function openConsole(): Promise<void> {
  const cookie = await signIn();
  const ask = async (path: string) => {
    const { statusCode, body } = await request(new URL(path, url), { headers: { cookie } });
    await body.dump({ limit: Number.POSITIVE_INFINITY });
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
  };
  const poll = ({ path, pollMs }: { readonly path: string; readonly pollMs: number }) => {
    // Nobody opens 20 pages in the same moment.
    setTimeout(() => setInterval(() => void ask(path), pollMs), Math.random() * pollMs);
    return ask(path);
  };
  await Promise.all([OVERVIEW, SYSTEM, QUESTIONS, APPROVALS].map(poll));
  const overview = throttled(() => void ask(OVERVIEW.path), OVERVIEW.afterEventsMs);
  const requests = throttled(() => {
    for (const { path } of [QUESTIONS, APPROVALS]) void ask(path);
  }, QUESTIONS.afterEventsMs);
  const feed = await request(new URL('/v1/events', url), {
    headers: { cookie, accept: 'text/event-stream' },
    bodyTimeout: 0,
  });
  if (feed.statusCode !== 200) throw new Error(`the live feed answered ${feed.statusCode}`);
  feed.body.setEncoding('utf8');
  feed.body.on('data', (text: string) => {
    if (text.includes('"stream_id"')) overview();
    if (CHANGES_REQUESTS.test(text)) requests();
  });
  feed.body.on('close', () => {
    throw new Error('the live feed ended');
  });
}

async function signIn(): Promise<string> {
  const { statusCode, headers, body } = await request(new URL('/console/session', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  await body.dump();
  const cookie = [headers['set-cookie']].flat()[0]?.split(';')[0];
  if (statusCode !== 200 || cookie === undefined) throw new Error(`the sign-in answered ${statusCode}`);
  return cookie;
}

/** As `useThrottled` of the console. */
function throttled(call: () => void, intervalMs: number): () => void {
  let timer: NodeJS.Timeout | null = null;
  let again = false;
  const run = () => {
    if (timer !== null) {
      again = true;
      return;
    }
    call();
    timer = setTimeout(() => {
      timer = null;
      if (!again) return;
      again = false;
      run();
    }, intervalMs);
  };
  return run;
}

setPriority(19);
await Promise.all(Array.from({ length: Number(count) }, openConsole));
process.send?.('ready');
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { forgetParents, parentsOfThis, watchParents } from '../../bootstrap/parent-processes.mjs';
import { LaunchError } from '../launch-error.ts';
import { type BannerRoute, banner, shellWord } from '../stack/banner.ts';
import { type Stack, type StackOptions, startStack } from '../stack/stack.ts';

/**
 * One Ctrl-C reaches the launcher up to three times at once: from the terminal, from npm, and from start.mjs on an older
 * Node. Only a later one counts as a second Ctrl-C, which means hurry.
 */
const SAME_KEYSTROKE_MS = 1_000;

/** `npm start`: runs the stack in the foreground until a signal. Returns the exit code. */
export async function runStart(
  options: Pick<StackOptions, 'scripts' | 'inspect' | 'preparedCluster'> & {
    /** When the command began, in milliseconds since 1970. Default: when this process began. */
    readonly startedAt?: number;
    /** Called when the stack is ready. The function that it returns is called before the stack stops. */
    readonly onReady?: (stack: Stack) => Promise<() => void>;
  } = {},
): Promise<number> {
  const parents = parentsOfThis();
  forgetParents();
  ignoreClosedOutput();
  const asked = listenForStop();
  watchParents(parents, asked.stop);
  let stack: Stack;
  try {
    stack = await startStack({
      scripts: options.scripts,
      inspect: options.inspect,
      preparedCluster: options.preparedCluster,
      parents,
      signal: asked.signal,
      say: (line) => console.log(`angelia: ${line}`),
      show: (line) => console.log(line),
    });
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error;
    if (error.code === 'STOPPED') return 0;
    console.error(`angelia: ${error.message}`);
    return 1;
  }
  console.log(`\n${await bannerOf(stack, options.startedAt ?? performance.timeOrigin)}\n`);

  const end = await options.onReady?.(stack);
  await asked.promise;
  console.log('angelia: draining (Ctrl-C again to hurry)');
  end?.();
  await stack.stop({ hurry: asked.hurry });
  return 0;
}

/** What `npm start` prints when everything runs. */
export async function bannerOf(stack: Stack, startedAt: number): Promise<string> {
  const [routes, consoleLink] = await Promise.all([routesOf(stack), consoleLinkOf(stack)]);
  return banner({
    url: stack.url,
    otherUrls: stack.urls.slice(1),
    consoleLink,
    adminTokenFile: stack.secrets.adminTokenFile,
    dataDir: stack.dataDir,
    readyInSeconds: (Date.now() - startedAt) / 1000,
    demoSecret: stack.settings.config === null ? stack.secrets.demoSecret : null,
    routes,
    assignments: assignmentsFor(stack),
  });
}

/** As the API lists them, with those that were made by API. None if ingress does not answer: the banner must appear. */
async function routesOf(stack: Stack): Promise<BannerRoute[]> {
  const listed = await callApi<{ items: { name: string; source: string; status: string }[] }>(
    stack,
    'GET',
    '/v1/routes?limit=200',
  );
  return (listed?.items ?? []).map(({ name, source, status }) => ({
    name,
    status,
    madeByApi: source === 'api',
  }));
}

async function consoleLinkOf(stack: Stack): Promise<string | null> {
  return (await callApi<{ url?: string }>(stack, 'POST', '/v1/console/links'))?.url ?? null;
}

const API_TIMEOUT_MS = 5_000;

/** Null if ingress does not answer as it should. */
async function callApi<T>({ url, adminToken }: Stack, method: string, path: string): Promise<T | null> {
  try {
    // Not `fetch`, which takes 8 MB of a launcher that calls nothing else.
    const call = request(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}` },
      agent: false,
      signal: AbortSignal.timeout(API_TIMEOUT_MS),
    }).end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.setEncoding('utf8');
    return JSON.parse((await response.toArray()).join('')) as T;
  } catch {
    return null;
  }
}

/** What the command line, in another terminal, could not know: it reads `.env`, but not our environment. */
function assignmentsFor({ dataDir, settings, url }: Stack): string {
  const { env } = process;
  const values = {
    ANGELIA_CONFIG: env.ANGELIA_CONFIG && settings.config,
    ANGELIA_DATA: env.ANGELIA_DATA && dataDir,
    ANGELIA_HOST: env.ANGELIA_HOST && settings.host,
    ANGELIA_PORT: env.ANGELIA_PORT && new URL(url).port,
  };
  return Object.entries(values)
    .flatMap(([name, value]) => (value ? [`${name}=${shellWord(value)} `] : []))
    .join('');
}

function listenForStop() {
  const stopping = new AbortController();
  const hurrying = new AbortController();
  const stopped = Promise.withResolvers<null>();
  let firstAt: number | null = null;
  const stop = () => {
    firstAt ??= performance.now();
    stopping.abort();
    stopped.resolve(null);
  };
  process.on('SIGTERM', stop);
  process.on('SIGHUP', stop);
  process.on('SIGINT', () => {
    if (firstAt !== null && performance.now() - firstAt > SAME_KEYSTROKE_MS) hurrying.abort();
    stop();
  });
  return { signal: stopping.signal, hurry: hurrying.signal, promise: stopped.promise, stop };
}

/** For `npm start | head`: the stack keeps running when nobody reads its output any more. */
function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

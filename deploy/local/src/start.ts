import { forgetFront, frontOfThis, watchFront } from '../bootstrap/front.mjs';
import { banner } from './banner.ts';
import { LaunchError } from './launch-error.ts';
import { type Stack, type StackOptions, startStack } from './stack.ts';

/**
 * One Ctrl-C reaches the launcher up to three times at once: from the terminal, and passed on by npm and by the thin
 * shell of an older Node. Only one that comes later is a second one, and means hurry.
 */
const SAME_KEYSTROKE_MS = 1_000;

/** `npm start`: runs the stack in the foreground until a signal, and says how it ended by the exit code. */
export async function runStart(
  options: Pick<StackOptions, 'scripts' | 'inspect' | 'preparedCluster'> & {
    /** Called when everything is up; what it returns is called before the stack stops. */
    readonly onReady?: (stack: Stack) => Promise<() => void>;
  } = {},
): Promise<number> {
  const front = frontOfThis();
  forgetFront();
  ignoreClosedOutput();
  const asked = askedToStop();
  watchFront(front, asked.stop);
  let stack: Stack;
  try {
    stack = await startStack({
      scripts: options.scripts,
      inspect: options.inspect,
      preparedCluster: options.preparedCluster,
      front,
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
  console.log(`\n${bannerOf(stack)}\n`);

  const end = await options.onReady?.(stack);
  const refused = await Promise.race([stack.failed, asked.promise]);
  if (!refused) console.log('angelia: draining (Ctrl-C again to hurry)');
  end?.();
  await stack.stop({ hurry: asked.hurry });
  if (!refused) return 0;
  console.error(`angelia: ${refused.message}`);
  return 1;
}

function bannerOf(stack: Stack): string {
  return banner({
    url: stack.url,
    otherUrls: stack.urls.slice(1),
    adminTokenFile: stack.secrets.adminTokenFile,
    dataDir: stack.dataDir,
    readyInSeconds: performance.now() / 1000, // since this process began,
    demoSecret: stack.settings.usesDemoConfig ? stack.secrets.demoSecret : null,
  });
}

function askedToStop() {
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

/** `npm start | head`: that nobody reads any more is no reason to fall over. */
function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

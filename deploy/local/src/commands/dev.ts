import { once } from 'node:events';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { buildConsole, ConsoleBuildError } from '@angelia/console/build';
import { BuildError, build, openBundler } from '../../build.mjs';
import { repositoryRoot } from '../data-directory/layout.ts';
import { isReady } from '../stack/readiness.ts';
import { SERVICES } from '../stack/replicas.ts';
import type { Stack } from '../stack/stack.ts';
import { waitUntil } from '../wait-until.ts';
import { runStart } from './start.ts';

/** An editor saves in several steps (a temporary file, a rename), which count as one change. */
const SAME_SAVE_MS = 50;

/** A restart does not wait for a slow model: an interrupted run is resumed. */
const DRAIN_SECONDS = '1';

/** Longer than any service needs to start. After that its log says why it is not ready. */
const READY_WITHIN_MS = 30_000;

const say = (line: string): void => console.log(`angelia: ${line}`);

type Bundler = Awaited<ReturnType<typeof openBundler>>;
type Built = Awaited<ReturnType<typeof build>>;

/**
 * `npm run dev`: runs the local stack. A saved source file restarts the services that use it. Sources that do not build
 * change nothing that runs. With `--inspect` each service listens for a debugger (.vscode/launch.json). That is not the
 * default, because anything that reaches the port controls the service, an agent's command included.
 */
export async function runDev(args: readonly string[]): Promise<number> {
  process.env.ANGELIA_DRAIN_SECONDS ??= DRAIN_SECONDS;
  const bundler = await openBundler();
  try {
    const [built] = await Promise.all([build({ bundler, log: say }), buildConsole({ log: say })]);
    return await runStart({
      inspect: args.includes('--inspect'),
      onReady: (stack) => followSources(stack, bundler, built),
    });
  } catch (error) {
    if (!(error instanceof BuildError || error instanceof ConsoleBuildError)) throw error;
    console.error(`angelia: the sources do not build\n${error.message}`);
    return 1;
  } finally {
    await bundler.close();
  }
}

/** Returns the function that ends it. */
async function followSources(stack: Stack, bundler: Bundler, first: Built): Promise<() => void> {
  let timer: NodeJS.Timeout | undefined;
  let current = Promise.resolve(first);
  const directories: string[] = [];
  for await (const directory of glob('{libs,services}/*/src', { cwd: repositoryRoot }))
    directories.push(join(repositoryRoot, directory));
  // Node's own recursive watch loses a file on Linux once an editor has saved it by renaming. Loaded here: only `dev` needs it.
  const { watch } = await import('chokidar');
  const watcher = watch(directories, { ignoreInitial: true });
  const ready = once(watcher, 'ready');
  watcher
    .on('all', () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        current = current.then((running) => update(stack, bundler, running));
      }, SAME_SAVE_MS);
    })
    .on('error', (error) =>
      say(`sources are no longer watched: ${error instanceof Error ? error.message : String(error)}`),
    );
  await ready;
  say('watching the sources: a saved file restarts the services that use it');
  return () => {
    clearTimeout(timer);
    void watcher.close();
  };
}

/** Builds the sources and restarts the services that changed. Returns the build that runs afterwards. */
async function update(stack: Stack, bundler: Bundler, running: Built): Promise<Built> {
  const startedAt = performance.now();
  try {
    // A page that is reloaded shows the new console: ingress looks for another build, so nothing restarts for it.
    const [built] = await Promise.all([build({ bundler }), buildConsole({ log: say })]);
    const changed = changedFiles(running, built);
    if (changed.some((file) => file.endsWith('.sql')))
      say('SQL changed: restart `npm run dev` to migrate the database');
    const services = SERVICES.filter((service) =>
      changed.some(
        (file) => built.inputs[service]?.includes(file) || running.inputs[service]?.includes(file),
      ),
    );
    const instances = Object.keys(stack.adminPorts).filter((instance) =>
      services.some((service) => instance === service || /^-\d+$/.test(instance.slice(service.length))),
    );
    if (instances.length === 0) return built;
    const outcomes = await Promise.all(instances.map((instance) => restart(stack, instance)));
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    say(`${changed.join(', ')} changed: ${outcomes.join(', ')} (${seconds} s)`);
    return built;
  } catch (error) {
    if (!(error instanceof BuildError || error instanceof ConsoleBuildError)) throw error;
    say(`the sources do not build; the running services stay as they are\n${error.message}`);
    return running;
  }
}

async function restart(stack: Stack, instance: string): Promise<string> {
  await stack.hold(instance);
  await stack.resume(instance);
  const port = stack.adminPorts[instance] ?? 0;
  const ready = await waitUntil(() => isReady(port), READY_WITHIN_MS);
  return ready ? `${instance} restarted` : `${instance} is not ready (see logs/${instance}.log)`;
}

function changedFiles(before: Built, after: Built): string[] {
  const files = new Set([...Object.keys(before.stamps), ...Object.keys(after.stamps)]);
  return [...files].filter((file) => before.stamps[file] !== after.stamps[file]);
}

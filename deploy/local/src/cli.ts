import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { buildConsole, ConsoleBuildError } from '@angelia/console/build';
import { BuildError, build } from '../build.mjs';
import { runDev } from './commands/dev.ts';
import { runRelease } from './commands/release.ts';
import { runStart } from './commands/start.ts';
import { repositoryRoot } from './data-directory/layout.ts';
import { testDirectory } from './servers/test-directory.ts';
import { sweepTestServices } from './servers/test-services.ts';

/** What `npm test` runs. The tier `long` takes minutes and has a command of its own. */
const GATE_TIERS = ['unit', 'int', 'e2e'];

const commands: Record<string, (args: string[]) => Promise<number>> = {
  start: async () => (await built()) || becomeLauncher(),
  dev: (args) => runDev(args),
  test: (args) => runGate(args),
  verify: (args) => runGate(args),
  // Unit tests need no build.
  'test:unit': async (args) => runTests(args, ['unit']),
  'test:watch': async (args) => (await built()) || runTests(['--watch', ...args], GATE_TIERS),
  'test:long': async (args) => (await built()) || runTests(args, ['long']),
  typecheck: (args) => checkTypes(args),
  lint: (args) => all(biome(['check', '--error-on-warnings', ...args]), markdown()),
  format: async (args) => (await biome(['check', '--write', ...args])) || markdown(['--fix']),
  bench: async (args) => (await built()) || runSource('tests/bench/main.ts', args),
  chaos: async (args) => (await built()) || runSource('tests/chaos/main.ts', args),
  screenshots: async (args) => (await built()) || runSource('tests/screenshots/main.ts', args),
  release: async (args) => runRelease(args),
};

/** Called by start.mjs when Node 24 and the dependencies are there. */
export async function main([name = '', ...args]: string[]): Promise<void> {
  const command = commands[name];
  if (!command) {
    console.error(`angelia: there is no command "${name}": use one of ${Object.keys(commands).join(', ')}`);
    process.exit(1);
  }
  process.exit(await command(args));
}

/** A launcher has little to do, so a small young generation is enough for it. */
const LAUNCHER_OPTIONS = ['--max-semi-space-size=1'];

/**
 * Replaces this process by the bundled launcher, which takes 61 MB instead of 100 to 149: it runs as long as the stack,
 * and this process has loaded what strips types and builds.
 */
function becomeLauncher(): Promise<number> {
  // Windows has no execve.
  if (process.execve === undefined || process.platform === 'win32') return runStart();
  const script = join(repositoryRoot, 'dist/launcher.js');
  const args = [process.execPath, ...LAUNCHER_OPTIONS, script, String(performance.timeOrigin)];
  return process.execve(process.execPath, args, process.env);
}

/** Returns an exit code, 0 if the build succeeded, so that `||` can chain what needs the build. */
async function built(): Promise<number> {
  const log = (line: string) => console.error(`angelia: ${line}`);
  try {
    await Promise.all([build({ log }), buildConsole({ log })]);
    return 0;
  } catch (error) {
    if (!(error instanceof BuildError || error instanceof ConsoleBuildError)) throw error;
    console.error(`angelia: the sources do not build\n${error.message}`);
    return 1;
  }
}

/**
 * The tests need the build and no more, so they begin while format, lint and types are still being checked: while a run starts
 * its servers, a core is idle. A problem that the checks find ends the tests, so that it is what one sees last.
 */
async function runGate(args: string[]): Promise<number> {
  console.error('angelia: checking format, lint and types');
  const stop = new AbortController();
  const checking = all(biome(['check', '--error-on-warnings']), markdown(), checkTypes());
  const failing = checking.then((code) => code !== 0 && stop.abort());
  const testing = built().then(
    (code) => code || (stop.signal.aborted ? 0 : runTests(args, GATE_TIERS, stop.signal)),
  );
  await failing;
  const tested = await testing;
  if (!stop.signal.aborted) return tested;
  console.error('angelia: the checks found problems (above), so the tests were stopped');
  return checking;
}

/** Waits for all of them, so that one run shows every problem. */
async function all(...checks: Promise<number>[]): Promise<number> {
  const codes = await Promise.all(checks);
  return codes.find((code) => code !== 0) ?? 0;
}

async function runTests(args: string[], tiers: string[], stop?: AbortSignal): Promise<number> {
  const jest = join(repositoryRoot, 'node_modules/jest/bin/jest.js');
  const directory = testDirectory();
  if (directory !== undefined) process.env.TMPDIR = directory;
  const code = await run(
    [jest, ...args, ...(args.includes('--selectProjects') ? [] : ['--selectProjects', ...tiers])],
    stop,
  );
  await sweepTestServices();
  return code;
}

function biome(args: string[]): Promise<number> {
  return run([join(repositoryRoot, 'node_modules/@biomejs/biome/bin/biome'), ...args]);
}

/** Every Markdown file, by .markdownlint-cli2.jsonc: under a second. */
function markdown(args: string[] = []): Promise<number> {
  return run([join(repositoryRoot, 'node_modules/markdownlint-cli2/markdownlint-cli2-bin.mjs'), ...args]);
}

/** The console has types of its own: those of a browser, not of Node. */
function checkTypes(args: string[] = []): Promise<number> {
  const check = (project: string, kept: string) =>
    run([
      join(repositoryRoot, 'node_modules/typescript/bin/tsc'),
      ...['--noEmit', '-p', project],
      // A second run only checks what changed.
      ...['--incremental', '--tsBuildInfoFile', kept],
      ...args,
    ]);
  return all(
    check('tsconfig.json', '.cache/typecheck.json'),
    check('libs/console/tsconfig.json', '.cache/typecheck-console.json'),
  );
}

function runSource(script: string, args: string[]): Promise<number> {
  return run([join(repositoryRoot, script), ...args]);
}

/**
 * Runs in the foreground and in our process group. Ctrl-C reaches it directly, and once more from us; a signal to us alone, as
 * from the time-out of a CI, only from us.
 */
function run(args: string[], stop?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: repositoryRoot, stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => child.kill(signal));
    stop?.addEventListener('abort', () => child.kill('SIGTERM'));
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  });
}

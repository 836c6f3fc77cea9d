import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { BuildError, build } from '../build.mjs';
import { repositoryRoot } from './layout.ts';
import { runStart } from './start.ts';
import { sweepTestServices } from './test-services.ts';

const commands: Record<string, (args: string[]) => Promise<number>> = {
  start: async () => (await built()) || runStart(),
  test: async (args) => (await built()) || runTests(args),
  verify: async (args) => (await built()) || inTurn([runFormatAndLint, runTypes, () => runTests(args)]),
  bench: async (args) => (await built()) || runSource('tests/bench/main.ts', args),
  chaos: async (args) => (await built()) || runSource('tests/chaos/main.ts', args),
};

/** Called by start.mjs, once Node 24 and the dependencies are there. */
export async function main([name = '', ...args]: string[]): Promise<void> {
  const command = commands[name];
  if (!command) {
    console.error(`angelia: there is no command "${name}": ${Object.keys(commands).join(', ')}`);
    process.exit(1);
  }
  process.exit(await command(args));
}

/** 0 when everything compiled, so that it can stand before what needs it. */
async function built(): Promise<number> {
  try {
    await build({ log: (line) => console.error(`angelia: ${line}`) });
    return 0;
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`angelia: ${error.message}`);
    return 1;
  }
}

async function inTurn(steps: (() => Promise<number>)[]): Promise<number> {
  for (const step of steps) {
    const code = await step();
    if (code !== 0) return code;
  }
  return 0;
}

async function runTests(args: string[]): Promise<number> {
  const jest = join(repositoryRoot, 'node_modules/jest/bin/jest.js');
  // Jest's ESM mode is behind that flag; the warning about it is not news.
  const code = await run([
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    jest,
    ...args,
  ]);
  await sweepTestServices();
  return code;
}

function runFormatAndLint(): Promise<number> {
  console.error('angelia: format and lint');
  return run([join(repositoryRoot, 'node_modules/@biomejs/biome/bin/biome'), 'check', '--error-on-warnings']);
}

function runTypes(): Promise<number> {
  console.error('angelia: types');
  return run([join(repositoryRoot, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.json']);
}

function runSource(script: string, args: string[]): Promise<number> {
  return run([join(repositoryRoot, script), ...args]);
}

/** In the foreground and in our process group: a Ctrl-C reaches it by itself, so we only wait for its end. */
function run(args: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: repositoryRoot, stdio: 'inherit' });
    process.on('SIGINT', () => {});
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  });
}

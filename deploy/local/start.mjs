// The door: `npm start`, `npm test`, `npm run verify|bench|chaos` all come in here, on any Node >= 20 with nothing
// installed. Plain JavaScript without dependencies until the toolchain and node_modules are there; then it hands
// over to src/cli.ts, which Node 24 runs as it is (type stripping).

import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provideDependencies } from './bootstrap/dependencies.mjs';
import { asFrontOfChild, frontOfThis, watchFront } from './bootstrap/front.mjs';
import { BootstrapError } from './bootstrap/progress.mjs';
import { provideNode } from './bootstrap/toolchain.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

try {
  const node = await provideNode(root);
  if (node !== process.execPath) {
    runAgainUnder(node);
  } else {
    await provideDependencies(root);
    const { main } = await import('./src/cli.ts');
    await main(process.argv.slice(2));
  }
} catch (error) {
  if (!(error instanceof BootstrapError)) throw error;
  console.error(`angelia: ${error.message}`);
  process.exitCode = 1;
}

/** Node 20 cannot replace itself (execve came later), so it stays as a thin shell: signals in, exit code out. */
function runAgainUnder(node) {
  const front = frontOfThis();
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, ...asFrontOfChild(front) },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`angelia: ${node} does not run here (${error.message}): install Node 24 and try again`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    // 128 + n is what a shell says of a program that died from signal n; 137 is right for the usual SIGKILL.
    process.exit(signal ? 137 : (code ?? 1));
  });
  watchFront(front, () => child.kill('SIGTERM'));
}

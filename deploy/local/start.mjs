// The door: `npm start`, `npm test`, `npm run verify|bench|chaos` all come in here, on any Node >= 20 with nothing
// installed. Plain JavaScript without dependencies until the toolchain and node_modules are there; then it hands
// over to src/cli.ts, which Node 24 runs as it is (type stripping).

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provideDependencies } from './bootstrap/dependencies.mjs';
import { asFrontOfChild, frontOfThis, watchFront } from './bootstrap/front.mjs';
import { BootstrapError } from './bootstrap/progress.mjs';
import { runUnder } from './bootstrap/run-under.mjs';
import { provideNode } from './bootstrap/toolchain.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

try {
  const node = await provideNode(root);
  if (node !== process.execPath) {
    const front = frontOfThis();
    const child = runUnder(node, process.argv.slice(1), asFrontOfChild(front));
    watchFront(front, () => child.kill('SIGTERM'));
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

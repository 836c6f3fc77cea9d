// The entry of `npm start`, `npm test` and `npm run verify|bench|chaos`, on any Node >= 20 with nothing installed. It is
// plain JavaScript without dependencies. When the toolchain and node_modules are there, it hands over to src/cli.ts, which
// Node 24 runs directly (type stripping).

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provideDependencies } from './bootstrap/dependencies.mjs';
import { environmentForChild, parentsOfThis, watchParents } from './bootstrap/parent-processes.mjs';
import { BootstrapError } from './bootstrap/progress.mjs';
import { runWithNode } from './bootstrap/run-with-node.mjs';
import { provideNode } from './bootstrap/toolchain.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

try {
  const node = await provideNode(root);
  if (node !== process.execPath) {
    const parents = parentsOfThis();
    const child = runWithNode(node, process.argv.slice(1), environmentForChild(parents));
    watchParents(parents, () => child.kill('SIGTERM'));
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

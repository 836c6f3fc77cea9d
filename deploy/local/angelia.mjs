#!/usr/bin/env node
// `npx angelia ...` in the repository: runs the command line (libs/cli) as it was built last, with the Node that it needs.
// It does not build again when its sources changed: the running services come from the same build, and a new one would
// replace their files. It builds only if there is no build yet.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { BootstrapError } from './bootstrap/progress.mjs';
import { runWithNode } from './bootstrap/run-with-node.mjs';
import { provideNode } from './bootstrap/toolchain.mjs';

const here = fileURLToPath(import.meta.url);
const root = dirname(dirname(dirname(here)));
const main = join(root, 'dist', 'angelia.js');

try {
  const node = await provideNode(root);
  if (node !== process.execPath) {
    // Run the command line directly if it is built: that starts one Node less.
    const script = existsSync(main) ? main : here;
    runWithNode(node, [script, ...process.argv.slice(2)]);
  } else {
    if (!existsSync(main)) await buildOnce();
    await import(pathToFileURL(main).href);
  }
} catch (error) {
  if (!(error instanceof BootstrapError)) throw error;
  console.error(`angelia: ${error.message}`);
  process.exitCode = 1;
}

async function buildOnce() {
  const { provideDependencies } = await import('./bootstrap/dependencies.mjs');
  const { progress } = await import('./bootstrap/progress.mjs');
  await provideDependencies(root);
  const { BuildError, build } = await import('./build.mjs');
  try {
    await build({ log: progress });
  } catch (error) {
    throw error instanceof BuildError ? new BootstrapError(error.message) : error;
  }
}

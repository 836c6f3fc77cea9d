#!/usr/bin/env node
// `npx angelia ...` in the repository: the command line (libs/cli) as it was built last, under the Node that it needs. It is
// not built anew when its sources changed: what is there is what the running services are, too, and a build under them
// would exchange their files. Only where nothing was ever built, it is.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { BootstrapError } from './bootstrap/progress.mjs';
import { runUnder } from './bootstrap/run-under.mjs';
import { provideNode } from './bootstrap/toolchain.mjs';

const here = fileURLToPath(import.meta.url);
const root = dirname(dirname(dirname(here)));
const main = join(root, 'dist', 'angelia.js');

try {
  const node = await provideNode(root);
  if (node !== process.execPath) {
    // Straight to the command line when it is there: one Node less to start.
    const script = existsSync(main) ? main : here;
    runUnder(node, [script, ...process.argv.slice(2)]);
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

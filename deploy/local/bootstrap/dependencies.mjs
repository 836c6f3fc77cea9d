// Installs the workspace's dependencies if the lockfile changed since the last successful install.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockWhenFree } from './lock.mjs';
import { BootstrapError, progress } from './progress.mjs';
import { providePnpm } from './toolchain.mjs';

/**
 * @param {string} root
 * @returns {Promise<void>}
 */
export async function provideDependencies(root) {
  if (isInstalled(root)) return;
  const pnpm = await providePnpm(root);
  const lock = await lockWhenFree(join(root, '.cache', 'install.lock'), {
    onWait: (owner) => progress(`waiting for another run (pid ${owner.pid}) to install the dependencies`),
  });
  try {
    if (isInstalled(root)) return;
    progress('installing dependencies (the lockfile changed; the first time takes a minute or two)');
    const wanted = fingerprint(root);
    const result = spawnSync(process.execPath, [pnpm, 'install', '--frozen-lockfile'], {
      cwd: root,
      // CI makes pnpm never ask and never wait for a terminal.
      env: { ...process.env, CI: 'true' },
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (result.status !== 0) {
      const output = `${result.stdout ?? ''}${result.stderr ?? ''}`.trim();
      throw new BootstrapError(
        `could not install the dependencies (pnpm install --frozen-lockfile):\n${result.error?.message ?? output}`,
      );
    }
    writeFileSync(stampPath(root), wanted);
  } finally {
    lock.release();
  }
}

// Inside node_modules, so that it disappears with node_modules.
const stampPath = (root) => join(root, 'node_modules', '.angelia-installed');

function isInstalled(root) {
  try {
    return readFileSync(stampPath(root), 'utf8') === fingerprint(root);
  } catch {
    return false;
  }
}

function fingerprint(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}\n`);
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(join(root, file)));
  return hash.digest('hex');
}
